import { expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { queued } from './queued.js';

const redis = connect();
const other = connect();

async function keysOf(prefix: string): Promise<Record<string, { type: string; ttlMs: number }>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const entries = keys.map(async (key) => {
    const [type, ttlMs] = await Promise.all([redis.type(key), redis.pttl(key)]);
    return [key.slice(prefix.length + 1), { type, ttlMs }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const LIMITS = {
  write: ['string', 60_000],
  readers: ['zset', 60_000],
  'rw-queue': ['zset', 60_000],
  'rw-token': ['string', 7 * 86_400_000],
} as const;

test.each(['write', 'readers'] as const)(
  'all keys of a lock that is held (%s) and waited for expire',
  async (part) => {
    const prefix = freshPrefix();
    const lock = new ReadWriteLock(redis, '}x', { prefix, leaseMs: 60_000 });
    const holder = await lock[part === 'write' ? 'write' : 'read'].acquire();
    const wait = new ReadWriteLock(other, '}x', { prefix }).write.acquire();
    await queued(lock.read, 1);
    const keys = await keysOf(prefix);
    const parts = [part, 'rw-queue', 'rw-token'] as const;
    expect(Object.keys(keys)).toEqual(parts.map((name) => `locks:{%7Dx}:${name}`).toSorted());
    for (const name of parts) {
      const [type, limit] = LIMITS[name];
      const key = keys[`locks:{%7Dx}:${name}`];
      expect(key?.type).toBe(type);
      expect(key?.ttlMs).toBeGreaterThan(limit - 20_000);
      expect(key?.ttlMs).toBeLessThanOrEqual(limit);
    }
    await holder.release();
    await (await wait).release();
  },
);

test('the key of the readers stays for the longest of their leases, whatever the order', async () => {
  const prefix = freshPrefix();
  const of = (leaseMs: number): ReadWriteLock =>
    new ReadWriteLock(redis, 'lock', { prefix, leaseMs, renew: false });
  const leftOf = (): Promise<number> => redis.pttl(`${prefix}:locks:{lock}:readers`);
  const leases = [
    await of(20_000).read.acquire(),
    await of(60_000).read.acquire(),
    await of(10_000).read.acquire(),
  ];
  expect(await leftOf()).toBeGreaterThan(40_000);
  await leases[0]!.renew();
  expect(await leftOf()).toBeGreaterThan(40_000);
  expect(await leftOf()).toBeLessThanOrEqual(60_000);
  for (const lease of leases) expect(await lease.release()).toBe(true);
});

test('of a lock that nobody holds only the last token stays, and every grant renews it', async () => {
  const prefix = freshPrefix();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const token = `${prefix}:locks:{lock}:rw-token`;
  const isRenewed = async (): Promise<boolean> => {
    const ttlMs = await redis.pttl(token);
    await redis.pexpire(token, 60_000);
    return ttlMs > 7 * 86_400_000 - 30_000;
  };
  const writer = await lock.write.acquire();
  expect(await isRenewed()).toBe(true);
  const beside = new ReadWriteLock(other, 'lock', { prefix }).read.acquire();
  await queued(lock.read, 1);
  const wait = lock.write.acquire();
  await queued(lock.read, 2);
  const reader = await writer.downgrade();
  expect(await isRenewed()).toBe(true);
  await reader.release();
  await (await beside).release();
  await (await wait).release();
  expect(await isRenewed()).toBe(true);
  await using last = await lock.read.acquire();
  expect(await isRenewed()).toBe(true);
  await last.release();
  // A re-check that was on its way may have put a waiter back, and takes it out again.
  await queued(lock.read, 0);
  expect(Object.keys(await keysOf(prefix))).toEqual(['locks:{lock}:rw-token']);
});

test('reading and failing leave nothing behind', async () => {
  const prefix = freshPrefix();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  for (const side of [lock.read, lock.write]) {
    await side.inspect();
    await side.forceRelease();
    expect(await side.renewFor(`aaaaaaaaaaaaaaaa.1.1000.${side === lock.read ? 'r' : 'w'}`)).toBe(false);
    await expect(side.acquire({ waitMs: -1 })).rejects.toThrow(RangeError);
  }
  expect(await keysOf(prefix)).toEqual({});
});

test('a reader and a waiter take few bytes', async () => {
  const prefix = freshPrefix();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const bytes = async (part: string): Promise<number> =>
    (await redis.memory('USAGE', `${prefix}:locks:{lock}:${part}`)) ?? 0;
  const readers = await Promise.all(Array.from({ length: 100 }, () => lock.read.acquire()));
  const controller = new AbortController();
  const waits = Array.from({ length: 100 }, () => lock.write.acquire({ signal: controller.signal }));
  const results = Promise.allSettled(waits);
  await queued(lock.read, 100);
  expect((await bytes('readers')) / 100).toBeLessThan(64);
  expect((await bytes('rw-queue')) / 100).toBeLessThan(64);
  controller.abort();
  await results;
  await Promise.all(readers.map((reader) => reader.release()));
});
