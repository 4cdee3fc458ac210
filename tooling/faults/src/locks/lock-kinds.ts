import type { Lease } from '@mortise/locks';
import { Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';
import type { WorkerConfig } from './config.js';

interface WaitLimits {
  readonly mode: 'read' | 'write';
  readonly permits: number;
  readonly waitMs: number;
}

/** The one call of all locks that a worker uses. */
export type AcquireLock = (options: WaitLimits) => Promise<Lease>;

export function lockOf(redis: RedisClient, name: string, config: WorkerConfig): AcquireLock {
  const { kind, prefix, leaseMs, renew, permits: limit = 1 } = config;
  const options = { prefix, leaseMs, renew };
  if (kind === 'semaphore') {
    const semaphore = new Semaphore(redis, name, { ...options, permits: limit });
    return ({ permits, waitMs }) => semaphore.acquire({ permits, waitMs });
  }
  if (kind === 'read-write') {
    const lock = new ReadWriteLock(redis, name, options);
    return ({ mode, waitMs }) => lock[mode].acquire({ waitMs });
  }
  const mutex = new Mutex(redis, name, options);
  return ({ waitMs }) => mutex.acquire({ waitMs });
}
