/** The exclusive locks that are compared, each as its README recommends and with its defaults. */
import { Mutex } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
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

/** With the client of a Cluster, whose messages go to one node each. */
export const MINE_ON_CLUSTER: MutexKind = {
  name: '@mortise/locks, Cluster',
  version: versionOf('@mortise/locks'),
  prepare: ({ options: { host, port } }, lock) =>
    Promise.resolve(mortise(new Cluster([{ host, port }]), lock, {})),
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

/** The least that a FIFO lock can cost, by two scripts and one message: no token, no lost message, no dead waiter. */
export const FIFO_FLOOR: MutexKind = {
  name: 'bare FIFO grant',
  version: 'two scripts, one publish',
  prepare: async (redis, lock) => {
    redis.defineCommand('takeOrQueue', { numberOfKeys: 2, lua: TAKE_OR_QUEUE });
    redis.defineCommand('passOn', { numberOfKeys: 2, lua: PASS_ON });
    const scripts = redis as Redis & Record<'takeOrQueue' | 'passOn', (...args: string[]) => Promise<number>>;
    const holder = randomUUID();
    let onGrant: (() => void) | undefined;
    const subscriber = redis.duplicate();
    await subscriber.subscribe(holder);
    subscriber.on('message', () => onGrant?.());
    const keys = [lock, `${lock}:queue`];
    return async () => {
      const granted = new Promise<void>((resolve) => {
        onGrant = resolve;
      });
      if ((await scripts.takeOrQueue(...keys, holder, String(LEASE_MS))) === 0) await granted;
      return () => scripts.passOn(...keys, holder, String(LEASE_MS));
    };
  },
};

const TAKE_OR_QUEUE = `#!lua
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return 0`;

const PASS_ON = `#!lua
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local waiter = redis.call('LPOP', KEYS[2])
if waiter then
  redis.call('SET', KEYS[1], waiter, 'PX', ARGV[2])
  redis.call('PUBLISH', waiter, '')
else
  redis.call('DEL', KEYS[1])
end
return 1`;

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

const ALL = [MINE, MINE_WITHOUT_TOKEN, MINE_ON_CLUSTER, ...PEERS, FLOOR, FIFO_FLOOR];

export function mutexKind(name: string): MutexKind {
  return ALL.find((kind) => kind.name === name)!;
}

function mortise(redis: Redis | Cluster, lock: string, options: MutexOptions): Acquire {
  const mutex = new Mutex(redis, lock, options);
  return async () => {
    const lease = await mutex.acquire();
    return () => lease.release();
  };
}
