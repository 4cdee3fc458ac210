/**
 * The history of a run: each operation of each client, with the instants between which it took place. All instants
 * are µs of CLOCK_MONOTONIC, which is the same for all processes of a machine and doesn't know of the time of day.
 */

interface Timed {
  /** Unique in the history. A record that comes later replaces one with the same id: first the call, then the whole. */
  readonly id: string;
  /** The locked key. Histories of different keys are independent. */
  readonly key: string;
  /** Joins acquisition, sections and release of one lease; unique in the history. */
  readonly lease: string;
  readonly calledAt: number;
  /** Null when the client never learned the result: its process was killed. */
  readonly returnedAt: number | null;
}

export interface Acquisition extends Timed {
  readonly op: 'acquire';
  /** `failed`: with an error, so it may or may not have been carried out. */
  readonly outcome: 'acquired' | 'timeout' | 'failed';
  /** How the lock is held: a writer alone, readers together. Default `write`. */
  readonly mode?: 'read' | 'write';
  /** Default 1. */
  readonly permits?: number;
  /** How long its client was ready to wait. */
  readonly waitMs?: number;
  readonly fencingToken?: number;
  /** The client relied on its lease until then, at least. */
  readonly validUntil?: number;
  readonly error?: string;
}

/** Reads the counter that the lock protects, and writes it back with one more; a reader reads it twice. */
export interface Section extends Timed {
  readonly op: 'section';
  /**
   * `refused`: the resource had seen a greater token. `abandoned`: the lease was over before the write. `torn`: a reader saw the
   * counter change.
   */
  readonly outcome: 'written' | 'read' | 'refused' | 'abandoned' | 'torn';
  /** The written or read value. */
  readonly value?: number;
  /** Whether the lease was valid after the answer of the resource. */
  readonly isValid: boolean;
}

export interface Release extends Timed {
  readonly op: 'release';
  /** `lost`: the server knew another holder or none. `failed` and a call without return: it may take place at any time. */
  readonly outcome: 'released' | 'lost' | 'failed' | 'unknown';
  /** The client relied on its lease until then, with all renewals. */
  readonly validUntil: number;
  readonly error?: string;
}

export type Operation = Acquisition | Section | Release;

/** Between these instants the server forgot something: FLUSHALL, a failover that lost the last writes. */
export interface Loss {
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly operations: readonly Operation[];
  /** Leases of these moments may be forgotten: then somebody else may be granted the lock while they last. */
  readonly losses?: readonly Loss[];
  /**
   * Connections broke, so commands may have been sent twice: a release that says `lost` may have been the second. Any of them, or
   * those of these moments.
   */
  readonly hasRepeats?: boolean | readonly Loss[];
}

/** A broken rule, with the history and its key. */
export interface Violation {
  readonly rule: 'linearizability' | 'token order' | 'validity' | 'lost update' | 'fencing' | 'progress';
  readonly key: string;
  readonly message: string;
}
