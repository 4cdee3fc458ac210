import { setTimeout as pause } from 'node:timers/promises';
import type { RedisAddress } from '../locks/config.js';

/** The name of a workload, as in `workloads/`. */
export type WorkloadName =
  | 'locks'
  | 'queues'
  | 'chats'
  | 'mailboxes'
  | 'files'
  | 'rows'
  | 'cache'
  | 'autocomplete'
  | 'market';

/** A fault that is over. Instants are µs of CLOCK_MONOTONIC. */
export interface PastFault {
  readonly from: number;
  readonly to: number;
  /** Writes of this time may be gone, because replication is asynchronous or all keys were removed. */
  readonly mayForget: boolean;
  /** All keys were removed. */
  readonly isFlush: boolean;
}

/** A process that lives from the beginning to the end. */
export interface Veteran {
  readonly name: string;
  readonly pid: number;
}

export interface Finding {
  readonly violations: readonly string[];
  /** For the report: how much was done, and what was excused. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Processes that use a package all the time, and the check of what they got. */
export interface Workload {
  /** Keys that no call removes. */
  readonly permanent?: RegExp;
  /** Rises as long as the work goes on. */
  progress(): number | Promise<number>;
  veterans(): readonly Veteran[];
  /** Kills a process, and starts another in its place; or stops one for a while. Never a veteran. */
  strike(how: 'kill' | 'stop', ms: number): Promise<void>;
  /** A fault of servers or links begins. */
  begins?(): void;
  /** Learns of a fault of servers or links once it is over. After a loss it creates again what a user would. */
  noted(fault: PastFault): Promise<void>;
  /** Ends the work, and checks it. */
  finish(): Promise<Finding>;
  /** Removes by calls of the package whatever is stored. */
  clean(): Promise<void>;
  dispose(): Promise<void>;
}

const AFTER_ERROR_MS = 50;

export interface Place {
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** How long the run takes. */
  readonly seconds: number;
}

export function oneOf<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}

/** Calls until an answer comes: Redis may refuse or fail for a while. */
export async function persist<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch {
      await pause(AFTER_ERROR_MS);
    }
  }
}

/** Whether something between these instants may be gone. */
export function isExcused(
  faults: readonly PastFault[],
  { calledAt, answeredAt }: { readonly calledAt: number; readonly answeredAt: number },
): boolean {
  return faults.some(({ from, to, mayForget }) => mayForget && calledAt <= to && answeredAt >= from);
}
