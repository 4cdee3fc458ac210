/** The counting semaphores that are compared, with their defaults. */
import { Semaphore } from '@mortise/locks';
import type { Redis } from 'ioredis';
import { Semaphore as RedisSemaphore } from 'redis-semaphore';
import { versionOf } from '../../version-of.js';
import type { Acquire } from './contend.js';

export interface SemaphoreKind {
  readonly name: string;
  readonly version: string;
  /** Returns a function that acquires a permit over this connection. */
  prepare(redis: Redis, name: string): Promise<Acquire>;
}

export const LIMIT = 5;

export const MY_SEMAPHORE: SemaphoreKind = {
  name: '@mortise/locks',
  version: versionOf('@mortise/locks'),
  prepare: (redis, name) => {
    const semaphore = new Semaphore(redis, name, { permits: LIMIT });
    return Promise.resolve(async () => {
      const lease = await semaphore.acquire();
      return () => lease.release();
    });
  },
};

const REDIS_SEMAPHORE: SemaphoreKind = {
  name: 'redis-semaphore',
  version: versionOf('redis-semaphore'),
  prepare: (redis, name) => {
    const semaphore = new RedisSemaphore(redis, name, LIMIT);
    return Promise.resolve(async () => {
      await semaphore.acquire();
      return () => semaphore.release();
    });
  },
};

export const SEMAPHORES: readonly SemaphoreKind[] = [MY_SEMAPHORE, REDIS_SEMAPHORE];

export function semaphoreKind(name: string): SemaphoreKind {
  return SEMAPHORES.find((kind) => kind.name === name)!;
}
