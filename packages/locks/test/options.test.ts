import { describe, expect, test } from '@jest/globals';
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import { QuorumMutex } from '@mortise/locks/quorum';
import type { AcquireOptions, MutexOptions } from '@mortise/locks';
import { Locks } from '@mortise/locks/nestjs';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const redis = connect();
const prefix = freshPrefix();
/** For clients that have to differ, and send nothing. */
const nodes = ['a', 'b', 'c'].map((host) => new Redis({ host, lazyConnect: true }));

describe('options of the constructor', () => {
  test.each([0, -1, 9, 86_400_001, 10.5, Number.NaN, Infinity, -Infinity, 2 ** 53])(
    'refuses leaseMs %p',
    (leaseMs) => {
      const limits = 'leaseMs must be a whole number from 10 to 86400000';
      expect(() => new Mutex(redis, 'lock', { leaseMs })).toThrow(
        new RangeError(`${limits}, got ${leaseMs}`),
      );
    },
  );

  test.each([0, -1, 9_999, 31 * 86_400_000 + 1, Number.NaN, Infinity])(
    'refuses maxHoldMs %p',
    (maxHoldMs) => {
      expect(() => new Mutex(redis, 'lock', { maxHoldMs })).toThrow(RangeError);
    },
  );

  test('maxHoldMs may not be below leaseMs', () => {
    expect(() => new Mutex(redis, 'lock', { leaseMs: 500, maxHoldMs: 499 })).toThrow(
      'maxHoldMs must be from 500 to 2678400000 ms, got 499',
    );
    expect(new Mutex(redis, 'lock', { leaseMs: 500, maxHoldMs: 500 }).name).toBe('lock');
  });

  test.each([
    { leaseMs: '10' },
    { leaseMs: null },
    { leaseMs: 10n },
    { fair: 1 },
    { fair: null },
    { renew: 'yes' },
    { fencing: 0 },
    { maxHoldMs: '10000' },
    { prefix: 7 },
  ])('refuses a value of another type: %p', (options) => {
    expect(() => new Mutex(redis, 'lock', options as unknown as MutexOptions)).toThrow(TypeError);
  });

  test.each([undefined, null, 7, {}, ['a']])('refuses the name %p', (name) => {
    expect(() => new Mutex(redis, name as string)).toThrow(TypeError);
  });

  test('refuses names that are empty or too long', () => {
    expect(() => new Mutex(redis, '')).toThrow(RangeError);
    expect(() => new Mutex(redis, 'x'.repeat(1_025))).toThrow('name must have 1 to 1024 bytes, got 1025');
    expect(() => new Mutex(redis, 'lock', { prefix: '' })).toThrow(RangeError);
    expect(new Mutex(redis, 'x'.repeat(1_024)).name).toHaveLength(1_024);
  });

  test('refuses what is no client', () => {
    expect(() => new Mutex({} as unknown as typeof redis, 'lock')).toThrow(TypeError);
    expect(() => new Mutex(null as unknown as typeof redis, 'lock')).toThrow(TypeError);
  });
});

describe('options that are no object', () => {
  const makers = {
    Mutex: (options: never) => new Mutex(redis, 'lock', options),
    ReadWriteLock: (options: never) => new ReadWriteLock(redis, 'lock', options),
    MultiLock: (options: never) => new MultiLock(redis, ['lock'], options),
    Semaphore: (options: never) => new Semaphore(redis, 'lock', options),
    QuorumMutex: (options: never) => new QuorumMutex(nodes, 'lock', options),
    RateLimiter: (options: never) => new RateLimiter(redis, 'lock', options),
    CountDownLatch: (options: never) => new CountDownLatch(redis, 'lock', options),
    'Locks of NestJS': (options: never) => new Locks(redis, options),
    'mutex of Locks of NestJS': (options: never) => new Locks(redis).mutex('lock', options),
  };

  test.each(Object.entries(makers))('%s refuses them', (_, make) => {
    for (const options of [5, 0, 'x', '', true, null, () => 1]) {
      const got = options === null ? 'null' : typeof options;
      expect(() => make(options as never)).toThrow(new TypeError(`options must be an object, got ${got}`));
    }
  });

  test('are refused by calls as well', async () => {
    const semaphore = new Semaphore(redis, 'lock', { permits: 1, prefix });
    const latch = new CountDownLatch(redis, 'lock', { count: 1, prefix });
    for (const options of [5 as never, 'x' as never, null as never]) {
      const calls = [
        new Mutex(redis, 'lock', { prefix }).acquire(options),
        new Mutex(redis, 'lock', { prefix }).using(() => 1, options),
        new MultiLock(redis, ['lock'], { prefix }).acquire(options),
        new ReadWriteLock(redis, 'lock', { prefix }).read.acquire(options),
        new QuorumMutex(nodes, 'lock', { prefix }).acquire(options),
        semaphore.acquire(options),
        semaphore.tryAcquire(options),
        latch.wait(options),
        latch.countDown(options),
      ];
      for (const call of calls) await expect(call).rejects.toThrow(/^options must be an object, got /);
    }
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });
});

describe('a section that is no function', () => {
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const locks: Record<string, { using(section: never): Promise<unknown> }> = {
    Mutex: new Mutex(redis, 'lock', { prefix }),
    'the reading side': lock.read,
    'the writing side': lock.write,
    MultiLock: new MultiLock(redis, ['lock', 'other'], { prefix }),
    Semaphore: new Semaphore(redis, 'lock', { permits: 1, prefix }),
    QuorumMutex: new QuorumMutex(nodes, 'lock', { prefix }),
  };

  test.each(Object.entries(locks))('is refused by %s before it asks for the lock', async (_, locked) => {
    for (const section of [undefined, null, 5, Promise.resolve()]) {
      const got = section === null ? 'null' : typeof section;
      await expect(locked.using(section as never)).rejects.toThrow(
        new TypeError(`section must be a function, got ${got}`),
      );
    }
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });
});

describe('options of acquire and using', () => {
  const mutex = new Mutex(redis, 'lock', { prefix });

  test.each([-1, 86_400_001, Number.NaN, Infinity, -Infinity])('refuses waitMs %p', async (waitMs) => {
    const limits = 'waitMs must be from 0 to 86400000 ms';
    await expect(mutex.acquire({ waitMs })).rejects.toThrow(new RangeError(`${limits}, got ${waitMs}`));
    await expect(mutex.using(() => 1, { waitMs })).rejects.toThrow(RangeError);
  });

  test.each([{ waitMs: '5' }, { waitMs: null }, { signal: {} }, { signal: null }, { signal: 'abort' }])(
    'refuses a value of another type: %p',
    async (options) => {
      await expect(mutex.acquire(options as unknown as AcquireOptions)).rejects.toThrow(TypeError);
    },
  );

  test('sends nothing for a call that it refuses', async () => {
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('undefined reads as absent', async () => {
    const lease = await mutex.acquire({ waitMs: undefined, signal: undefined });
    expect(await lease.release()).toBe(true);
  });
});
