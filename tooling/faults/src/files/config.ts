import type { RedisAddress } from '../locks/config.js';

/** Who sends the logs, who counts their lines, and who copies them, in a process of their own. */
export type Role = 'send' | 'count' | 'copy';

/** What a process is told, as JSON in its only argument. */
export interface ActorConfig {
  readonly role: Role;
  /** Of a receiver. */
  readonly name: string;
  /** All of them. */
  readonly receivers: readonly string[];
  /** Which files a counter takes: each one is counted by one of them. */
  readonly share: { readonly index: number; readonly of: number };
  /** With the logs, or for the copies. */
  readonly directory: string;
  /** Ranges of addresses, as CSV. */
  readonly ranges: string;
  /** Gets a line for each error. */
  readonly notes: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** After each block that is copied: what holds everybody up, through the window. */
  readonly pauseMs: number;
  readonly sabotage?: Sabotage;
}

/** What is broken in the scripts of a process; see sabotage.ts. */
export type Sabotage =
  | 'checkpoints are counted again'
  | 'acks free what others have not read'
  | 'files that all are done with stay';

/** What a process is told over IPC: end; copy without a pause. */
export type Order = 'stop' | 'hurry';

/** What it tells: it runs; all receivers are done with all that it sent. */
export type ActorMessage = 'ready' | 'done';

export const CHANNEL = 'logs';

/** Small, so that some MB meet every case; a gzip file fits the window. */
export const LIMITS = {
  chunkBytes: 8_192,
  windowBytes: 262_144,
  budgetBytes: 1_048_576,
  leaseMs: 500,
} as const;

/** Of each counter: a few thousand lines, of more cities than one script adds. */
export const CHECKPOINT_BYTES = 100_000;

/** How long a day remembers what is counted: as short as it may be. */
export const MARKER_MS = 60_000;

/** How soon it is forgotten of a file that is done; longer than what a failover forgets. */
export const FORGET_MS = 5_000;

/** Line by line; all others by blocks, as they were sent. */
export function isCopiedByLines(name: string): boolean {
  return name.endsWith('.lines.log');
}
