import { describe, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type {
  AcquireOptions,
  Lease,
  LockSide,
  ReadWriteLockOptions,
  ReadWriteLockState,
  WriteLease,
} from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();
const prefix = freshPrefix();

test('the types are what the README says', async () => {
  const options: ReadWriteLockOptions = { leaseMs: 1_000, renew: true, maxHoldMs: 5_000, prefix };
  const wait: AcquireOptions = { waitMs: 1_000, signal: new AbortController().signal };
  const lock = new ReadWriteLock(redis, 'typed', options);
  const read: LockSide = lock.read;
  const write: LockSide<WriteLease> = lock.write;
  const reader: Lease = await read.acquire(wait);
  const released: boolean = await reader.release();
  const writer: WriteLease = await write.acquire();
  const downgraded: Lease = await writer.downgrade();
  const attempt: WriteLease | null = await write.tryAcquire();
  await downgraded.release();
  const text: string = await read.using((_signal: AbortSignal, lease: Lease) => `${lease.isValid}`);
  const later: number = await write.using(async (_, lease: WriteLease) => lease.fencingToken, wait);
  const state: ReadWriteLockState = await lock.read.inspect();
  const names: readonly string[] = state.firstReaders;
  const known: boolean = await lock.write.renewFor(writer.holder);
  expect([released, attempt, text, names, known]).toEqual([true, null, 'true', [], false]);
  expect(later).toBeGreaterThan(downgraded.fencingToken);
});

test('what the compiler refuses is refused at run time as well', async () => {
  // @ts-expect-error -- a URL is no client
  expect(() => new ReadWriteLock('redis://127.0.0.1', 'lock')).toThrow(TypeError);
  // @ts-expect-error -- the name is missing
  expect(() => new ReadWriteLock(redis)).toThrow(TypeError);
  // @ts-expect-error -- a lease is a number
  expect(() => new ReadWriteLock(redis, 'lock', { leaseMs: '10s' })).toThrow(TypeError);
  const lock = new ReadWriteLock(redis, 'refused', { prefix });
  // @ts-expect-error -- a wait is a number
  await expect(lock.read.acquire({ waitMs: '10s' })).rejects.toThrow(TypeError);
  // @ts-expect-error -- a reader has nothing to give up for reading
  expect((await lock.read.acquire()).downgrade).toBeUndefined();
  // @ts-expect-error -- and cannot become a writer
  expect((await lock.read.acquire()).upgrade).toBeUndefined();
  expect(await lock.read.forceRelease()).toBe(true);
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new ReadWriteLock(cluster, 'lock')).toBeInstanceOf(ReadWriteLock);
  cluster.disconnect();
});

describe('options of the constructor', () => {
  test.each([0, -1, 9, 86_400_001, 10.5, Number.NaN, Infinity, -Infinity, 2 ** 53])(
    'refuses leaseMs %p',
    (leaseMs) => {
      expect(() => new ReadWriteLock(redis, 'lock', { leaseMs })).toThrow(
        new RangeError(`leaseMs must be a whole number from 10 to 86400000, got ${leaseMs}`),
      );
    },
  );

  test.each([0, -1, 9_999, 31 * 86_400_000 + 1, Number.NaN, Infinity])(
    'refuses maxHoldMs %p',
    (maxHoldMs) => {
      expect(() => new ReadWriteLock(redis, 'lock', { maxHoldMs })).toThrow(RangeError);
    },
  );

  test.each([{ leaseMs: '10' }, { leaseMs: null }, { leaseMs: 10n }, { renew: 'yes' }, { prefix: 7 }])(
    'refuses a value of another type: %p',
    (options) => {
      expect(() => new ReadWriteLock(redis, 'lock', options as unknown as ReadWriteLockOptions)).toThrow(
        TypeError,
      );
    },
  );

  test('refuses what is no name and no client', () => {
    for (const name of [undefined, null, 7, {}, ['a']]) {
      expect(() => new ReadWriteLock(redis, name as string)).toThrow(TypeError);
    }
    expect(() => new ReadWriteLock(redis, '')).toThrow(RangeError);
    expect(() => new ReadWriteLock(redis, 'x'.repeat(1_025))).toThrow('name must have 1 to 1024 bytes');
    expect(() => new ReadWriteLock(null as unknown as typeof redis, 'lock')).toThrow(TypeError);
  });

  test('is first come, first served, whatever else is asked for', async () => {
    const options = { prefix, fair: false, fencing: false } as ReadWriteLockOptions;
    const lock = new ReadWriteLock(redis, 'fair', options);
    expect((await lock.write.using((_, lease) => lease.fencingToken)) > 0).toBe(true);
  });
});

describe('options of acquire and using', () => {
  const name = freshPrefix();
  const lock = new ReadWriteLock(redis, name, { prefix });

  test.each([0, -1, 86_400_001, Number.NaN, Infinity, -Infinity])('refuses waitMs %p', async (waitMs) => {
    for (const side of [lock.read, lock.write]) {
      await expect(side.acquire({ waitMs })).rejects.toThrow(RangeError);
      await expect(side.using(() => 1, { waitMs })).rejects.toThrow(RangeError);
    }
  });

  test.each([{ waitMs: '5' }, { waitMs: null }, { signal: {} }, { signal: null }, { signal: 'abort' }])(
    'refuses a value of another type: %p',
    async (options) => {
      await expect(lock.read.acquire(options as unknown as AcquireOptions)).rejects.toThrow(TypeError);
    },
  );

  test('sends nothing for a call that it refuses', async () => {
    expect(await redis.keys(`${prefix}:locks:{${name}}:*`)).toEqual([]);
  });
});
