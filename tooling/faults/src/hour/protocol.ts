/** The messages between the hour and the conductor of a workload. */
import type { PastFault, Finding, Place, Veteran, WorkloadName } from './workload.js';

export interface ConductorConfig {
  readonly workload: WorkloadName;
  readonly place: Place;
}

/** Keys that are left after all removals. */
export interface LeftKeys {
  /** Keys that expire. */
  readonly expiring: number;
  /** Keys without an expiry, which should not exist any more. */
  readonly leaked: readonly string[];
}

export interface Results {
  veterans: readonly Veteran[];
  strike: null;
  begins: null;
  noted: null;
  finish: Finding;
  clean: LeftKeys;
}

export type Order =
  | { readonly do: 'veterans' | 'begins' | 'finish' | 'clean' }
  | { readonly do: 'strike'; readonly how: 'kill' | 'stop'; readonly ms: number }
  | { readonly do: 'noted'; readonly fault: PastFault };

export type NumberedOrder = Order & { readonly id: number };

export type ConductorMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly progress: number }
  | { readonly type: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly error: string };
