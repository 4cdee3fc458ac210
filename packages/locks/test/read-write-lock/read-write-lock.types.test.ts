import { expect, test } from '@jest/globals';
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

test('misuse that the compiler refuses also throws at run time', async () => {
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
