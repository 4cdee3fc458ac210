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

/** A fault that is over. Its instants are µs of CLOCK_MONOTONIC. */
export interface PastFault {
  readonly from: number;
  readonly to: number;
  /** Whether writes of this time may be gone: replication is asynchronous, or all keys were removed. */
  readonly mayForget: boolean;
  /** Whether all keys were removed. */
  readonly isFlush: boolean;
}

/** A process that lives as long as the run, so its memory shows leaks. */
export interface Veteran {
  readonly name: string;
  readonly pid: number;
}

export interface Finding {
  readonly violations: readonly string[];
  /** For the report: the amount of work, and the excused losses. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Processes that use a package all the time, and the checks of their records. */
export interface Workload {
  /** Matches keys that no call removes. */
  readonly permanent?: RegExp;
  /** Rises as long as the work goes on. */
  progress(): number | Promise<number>;
  veterans(): readonly Veteran[];
  /** Kills a process and starts another in its place, or stops a process for a while. Never hits a veteran. */
  strike(how: 'kill' | 'stop', ms: number): Promise<void>;
  /** A fault of servers or links begins. */
  begins?(): void;
  /** Learns of a fault of servers or links once it is over. After a loss it creates again what a user would. */
  noted(fault: PastFault): Promise<void>;
  /** Ends the work, and checks it. */
  finish(): Promise<Finding>;
  /** Removes all stored data by calls of the package. */
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

/** Calls again until the call succeeds: Redis may refuse it, or be down, for a while. */
export async function persist<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch {
      await pause(AFTER_ERROR_MS);
    }
  }
}

/** Whether a write between these instants may be gone. */
export function isExcused(
  faults: readonly PastFault[],
  { calledAt, answeredAt }: { readonly calledAt: number; readonly answeredAt: number },
): boolean {
  return faults.some(({ from, to, mayForget }) => mayForget && calledAt <= to && answeredAt >= from);
}
