/** What brings the news of changes to a near tier. */
import type { RedisConnection } from '@mortise/redis';

/** The side of a near tier that news go to. */
export interface Newsroom {
  readonly epoch: number;
  readonly isOpen: boolean;
  open(): void;
  close(): void;
  clear(): void;
  onChanged(redisKey: string): void;
}

export interface Coherence {
  /** Begins, if it hasn't. Opens the tier when news come, and closes it whenever they don't. */
  start(): void;
  /** Closes the tier and what was opened for it. Idempotent; it may be started again. */
  stop(): Promise<void>;
  /** Where reads have to go while the tier is open, if not over the client. */
  connection(): RedisConnection | undefined;
  /** That connection has failed. */
  doubt(): void;
}
