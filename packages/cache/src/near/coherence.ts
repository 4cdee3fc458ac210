/** The source of a near tier's invalidations. */
import type { RedisConnection } from '@mortise/redis';

/** The near tier, seen by its source of invalidations. */
export interface CoherentTier {
  readonly epoch: number;
  readonly isOpen: boolean;
  open(): void;
  close(): void;
  clear(): void;
  onChanged(redisKey: string): void;
}

export interface Coherence {
  /** Starts unless started. Opens the tier while invalidations arrive, and closes it otherwise. */
  start(): void;
  /** Closes the tier and its connections. Idempotent; `start` may be called again. */
  stop(): Promise<void>;
  /** The connection for reads while the tier is open; undefined: the client itself. */
  connection(): RedisConnection | undefined;
  /** A read on that connection has failed. */
  onConnectionFailed(): void;
}
