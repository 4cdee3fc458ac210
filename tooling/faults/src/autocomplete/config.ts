import type { RedisAddress } from '../locks/config.js';

/** The work of a process: it changes its own entries without end, or loads many and ends. */
type Role = 'write' | 'load';

/** The settings of a process, as JSON in its only argument. */
export interface ActorConfig {
  readonly role: Role;
  /** Which of its kind: entries belong to one of them. */
  readonly index: number;
  /** Records its attempts and the accepted ones; see journal.ts. The next process in its place appends to it. */
  readonly file: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** Entries that belong to it, or that it loads. */
  readonly entries: number;
  /** Adds to the scores of entries that belong to nobody: cannot be sent twice. */
  readonly isBoosting: boolean;
  /** Whether it looks up what it has left an entry at, before it changes the entry again. */
  readonly looksUp: boolean;
  /** Between two changes of an entry. */
  readonly pauseMs: number;
}

/** The order to a process over IPC: end when what is under way is accepted. */
export type Order = 'stop';

/** Its messages: it runs, or so many more changes were accepted. */
export type ActorMessage = 'ready' | number;

/** The book of all. */
export const BOOK = 'guild';

/** Entries that all writers boost. */
export const SHARED = 20;

export function sharedKey(index: number): string {
  return `shared ${index}`;
}
