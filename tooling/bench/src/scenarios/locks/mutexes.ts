/** The exclusive locks that are compared, each as its README recommends and with its defaults. */
import { Mutex } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import Redlock from 'redlock';
import { createLock, IoredisAdapter } from 'redlock-universal';
import { Mutex as RedisSemaphoreMutex } from 'redis-semaphore';
import { versionOf } from '../../version-of.js';
import type { Acquire } from './contend.js';

export interface MutexKind {
  readonly name: string;
  readonly version: string;
  /** Returns a function that acquires this lock over this connection. */
  prepare(redis: Redis, lock: string): Promise<Acquire>;
}

const LEASE_MS = 10_000;
const POLL_MS = 5;

export const MINE: MutexKind = {
  name: '@mortise/locks',
  version: versionOf('@mortise/locks'),
  prepare: (redis, lock) => Promise.resolve(mortise(redis, lock, {})),
};

/** As redlock and redis-semaphore, which have no token. */
export const MINE_WITHOUT_TOKEN: MutexKind = {
  name: '@mortise/locks, no token',
  version: versionOf('@mortise/locks'),
  prepare: (redis, lock) => Promise.resolve(mortise(redis, lock, { fencing: false })),
};

/** The least that a lock with a lease can cost: no queue, no token, no renewal, polled. */
export const FLOOR: MutexKind = {
  name: 'bare SET NX PX',
  version: `+ compare and delete, poll ${POLL_MS} ms`,
  prepare: (redis, lock) => {
    redis.defineCommand('compareAndDelete', { numberOfKeys: 1, lua: COMPARE_AND_DELETE });
    const scripts = redis as Redis & Record<'compareAndDelete', (...args: string[]) => Promise<number>>;
    return Promise.resolve(async () => {
      const holder = randomUUID();
      while ((await redis.set(lock, holder, 'PX', LEASE_MS, 'NX')) === null) await sleep(POLL_MS);
      return () => scripts.compareAndDelete(lock, holder);
    });
  },
};

const COMPARE_AND_DELETE = `#!lua
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

const REDLOCK: MutexKind = {
  name: 'redlock',
  version: versionOf('redlock'),
  prepare: (redis, lock) => {
    const redlock = new Redlock([redis]);
    return Promise.resolve(async () => {
      const held = await redlock.acquire([lock], LEASE_MS);
      return () => held.release();
    });
  },
};

const REDIS_SEMAPHORE: MutexKind = {
  name: 'redis-semaphore',
  version: versionOf('redis-semaphore'),
  prepare: (redis, lock) => {
    const mutex = new RedisSemaphoreMutex(redis, lock);
    return Promise.resolve(async () => {
      await mutex.acquire();
      return () => mutex.release();
    });
  },
};

const REDLOCK_UNIVERSAL: MutexKind = {
  name: 'redlock-universal',
  version: versionOf('redlock-universal'),
  prepare: (redis, key) => {
    const lock = createLock({ adapter: new IoredisAdapter(redis), key });
    return Promise.resolve(async () => {
      const handle = await lock.acquire();
      return () => lock.release(handle);
    });
  },
};

export const PEERS: readonly MutexKind[] = [REDLOCK, REDLOCK_UNIVERSAL, REDIS_SEMAPHORE];

const ALL = [MINE, MINE_WITHOUT_TOKEN, ...PEERS, FLOOR];

export function mutexKind(name: string): MutexKind {
  return ALL.find((kind) => kind.name === name)!;
}

function mortise(redis: Redis, lock: string, options: MutexOptions): Acquire {
  const mutex = new Mutex(redis, lock, options);
  return async () => {
    const lease = await mutex.acquire();
    return () => lease.release();
  };
}
