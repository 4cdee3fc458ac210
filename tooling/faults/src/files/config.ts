import type { RedisAddress } from '../locks/config.js';

/** A process sends the logs, counts their lines, or copies them. */
export type Role = 'send' | 'count' | 'copy';

/** The only argument of a process, as JSON. */
export interface ActorConfig {
  readonly role: Role;
  /** The name of a receiver. */
  readonly name: string;
  /** The names of all receivers. */
  readonly receivers: readonly string[];
  /** The files of a counter: one counter counts each file. */
  readonly share: { readonly index: number; readonly of: number };
  /** The directory of the logs, or of the copies. */
  readonly directory: string;
  /** Ranges of addresses, as CSV. */
  readonly ranges: string;
  /** Gets a line for each error. */
  readonly notes: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** The pause after each copied block. It holds up all processes, through the window. */
  readonly pauseMs: number;
  readonly sabotage?: Sabotage;
}

/** A change that breaks a script of a process; see sabotage.ts. */
export type Sabotage =
  | 'checkpoints are counted again'
  | 'acks free what others have not read'
  | 'files that all are done with stay';

/** A message to a process: end; copy without a pause. */
export type Order = 'stop' | 'hurry';

/** A message of a process: it runs; all receivers are done with all files that it sent. */
export type ActorMessage = 'ready' | 'done';

export const CHANNEL = 'logs';

/** Small, so that some MB meet every case. A gzip file fits the window. */
export const LIMITS = {
  chunkBytes: 8_192,
  windowBytes: 262_144,
  budgetBytes: 1_048_576,
  leaseMs: 500,
} as const;

/** A checkpoint of a counter has a few thousand lines, of more cities than one script adds. */
export const CHECKPOINT_BYTES = 100_000;

/** How long a day keeps the marks of files: the least that is allowed. */
export const MARKER_MS = 60_000;

/** How soon the marks of a finished file are removed; longer than what a failover loses. */
export const FORGET_MS = 5_000;

/** Whether a file is copied line by line; all others are copied by blocks, as they were sent. */
export function isCopiedByLines(name: string): boolean {
  return name.endsWith('.lines.log');
}
