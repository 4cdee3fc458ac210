/** The keys of all kinds: their types, how long they last, and their size. */
import { describe, expect, test } from '@jest/globals';
import { Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { SINGLE, WAITERS } from './fixture/lock-kinds.js';
import { queued } from './fixture/queued.js';

const redis = connect();
const other = connect();
const WEEK_MS = 7 * 86_400_000;

async function keysOf(prefix: string): Promise<Record<string, { type: string; ttlMs: number }>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const entries = keys.map(async (key) => {
    const [type, ttlMs] = await Promise.all([redis.type(key), redis.pttl(key)]);
    return [key.slice(prefix.length + 1), { type, ttlMs }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The keys of a lock with a holder and a waiter; then the keys that stay after it. */
const KEYS: Record<string, [held: Record<string, readonly [type: string, limitMs: number]>, free: string]> = {
  Mutex: [{ lease: ['string', 60_000], queue: ['zset', 60_000], token: ['string', WEEK_MS] }, 'token'],
  'ReadWriteLock.read': [
    { readers: ['zset', 60_000], 'rw-queue': ['zset', 60_000], 'rw-token': ['string', WEEK_MS] },
    'rw-token',
  ],
  'ReadWriteLock.write': [
    { 'rw-queue': ['zset', 60_000], 'rw-token': ['string', WEEK_MS], write: ['string', 60_000] },
    'rw-token',
  ],
  'Semaphore of one permit': [
    {
      permits: ['zset', WEEK_MS],
      'permits-queue': ['zset', 60_000],
      'permits-state': ['string', WEEK_MS],
    },
    'permits-state',
  ],
};

describe.each(WAITERS.filter(({ kind }) => kind in KEYS))('$kind', ({ kind, make, alone }) => {
  const [held, free] = KEYS[kind]!;

  test('all keys of a lock that is held and waited for lie in one slot and expire', async () => {
    const prefix = freshPrefix();
    const options = { prefix, leaseMs: 60_000 };
    const lock = make(redis, '}x', options);
    const holder = await lock.acquire();
    const wait = alone(other, '}x', options).acquire();
    await queued(lock, 1);
    const keys = await keysOf(prefix);
    expect(Object.keys(keys)).toEqual(Object.keys(held).map((part) => `locks:{%7Dx}:${part}`));
    for (const [part, [type, limitMs]] of Object.entries(held)) {
      const key = keys[`locks:{%7Dx}:${part}`];
      expect(key?.type).toBe(type);
      expect(key?.ttlMs).toBeGreaterThan(limitMs - 20_000);
      expect(key?.ttlMs).toBeLessThanOrEqual(limitMs);
    }
    await holder.release();
    await (await wait).release();
    // A re-check that was on its way may have put a waiter back, and takes it out again.
    await queued(lock, 0);
    expect(Object.keys(await keysOf(prefix))).toEqual([`locks:{%7Dx}:${free}`]);
  });

  test('calls that read or fail leave nothing behind', async () => {
    const prefix = freshPrefix();
    const role = { 'ReadWriteLock.read': '.r', 'ReadWriteLock.write': '.w', Mutex: '' }[kind] ?? '.1';
    const lock = make(redis, 'lock', { prefix });
    await lock.inspect();
    await lock.force();
    expect(await lock.releaseFor(`aaaaaaaaaaaaaaaa.1.1000${role}`)).toBe(false);
    expect(await lock.renewFor(`aaaaaaaaaaaaaaaa.1.1000${role}`)).toBe(false);
    await expect(lock.acquire({ waitMs: -1 })).rejects.toThrow(RangeError);
    expect(await keysOf(prefix)).toEqual({});
  });
});

test.each(SINGLE)('a waiter for a $kind takes few bytes', async ({ make }) => {
  const prefix = freshPrefix();
  const lock = make(redis, 'lock', { prefix });
  const holder = await lock.acquire();
  const controller = new AbortController();
  const waits = Array.from({ length: 100 }, () => lock.acquire({ signal: controller.signal }));
  await queued(lock, 100);
  const [queue] = await redis.keys(`${prefix}:*queue`);
  expect(Number(await redis.memory('USAGE', queue!)) / 100).toBeLessThan(46);
  expect(await redis.object('ENCODING', queue!)).toBe('listpack');
  controller.abort();
  await Promise.allSettled(waits);
  await holder.release();
});

test('a holder of a shared lock takes few bytes', async () => {
  const prefix = freshPrefix();
  const { read } = new ReadWriteLock(redis, 'lock', { prefix });
  const semaphore = new Semaphore(redis, 'lock', { prefix, permits: 100 });
  const all = Array.from({ length: 100 }, () => [read.acquire(), semaphore.acquire()]).flat();
  const leases = await Promise.all(all);
  const bytes = async (part: string): Promise<number> =>
    Number(await redis.memory('USAGE', `${prefix}:locks:{lock}:${part}`));
  expect((await bytes('readers')) / 100).toBeLessThan(46);
  expect((await bytes('permits')) / 100).toBeLessThan(46);
  expect(await bytes('permits-state')).toBeLessThan(200);
  await Promise.all(leases.map((lease) => lease.release()));
});

test('the token of a Mutex keeps the expiry that the first grant gave it', async () => {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, 'lock', { prefix });
  const token = `${prefix}:locks:{lock}:token`;
  const holder = await mutex.acquire();
  expect(await redis.pttl(token)).toBeGreaterThan(7 * 86_400_000 - 30_000);
  await redis.pexpire(token, 60_000);
  const wait = new Mutex(other, 'lock', { prefix }).acquire();
  await queued(mutex, 1);
  await holder.release();
  const lease = await wait;
  await lease.release();
  const last = await mutex.acquire();
  expect(Number(await redis.get(token))).toBe(last.fencingToken);
  expect(await redis.pttl(token)).toBeLessThanOrEqual(60_000);
  expect(await redis.pttl(token)).toBeGreaterThan(0);
  await last.release();
});

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

test('every grant of a ReadWriteLock renews its token', async () => {
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
});

test('permits live for longer than any lease, and every renewal, grant and new limit prolongs the state', async () => {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{pool}:${part}`;
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 2, leaseMs: 86_400_000 });
  const age = (): Promise<unknown> =>
    Promise.all([redis.pexpire(key('permits'), 100_000), redis.pexpire(key('permits-state'), 100_000)]);
  const isProlonged = async (...parts: string[]): Promise<void> => {
    for (const part of parts) expect(await redis.pttl(key(part))).toBeGreaterThan(WEEK_MS - 30_000);
  };
  const lease = await semaphore.acquire();
  await age();
  await lease.renew();
  await isProlonged('permits', 'permits-state');
  await age();
  const second = await semaphore.acquire();
  await isProlonged('permits', 'permits-state');
  const wait = new Semaphore(other, 'pool', { prefix, permits: 2 }).acquire();
  await queued(semaphore, 1);
  await age();
  await second.release();
  const third = await wait;
  await isProlonged('permits', 'permits-state');
  await age();
  await semaphore.setPermits(2);
  await isProlonged('permits-state');
  await third.release();
  await lease.release();
});

test('a refused caller does not keep the limit of a Semaphore alive', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 2 });
  await (await semaphore.acquire()).release();
  const state = `${prefix}:locks:{pool}:permits-state`;
  await redis.pexpire(state, 100_000);
  const stranger = new Semaphore(redis, 'pool', { prefix, permits: 3 });
  await expect(stranger.acquire()).rejects.toThrow('has the limit 2, not 3');
  await semaphore.inspect();
  expect(await redis.pttl(state)).toBeLessThanOrEqual(100_000);
  await redis.del(state);
  expect(await (await stranger.acquire()).release()).toBe(true);
});

test('a state that a release or a waiter makes anew expires as well', async () => {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{pool}:${part}`;
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 1 });
  const lease = await semaphore.acquire();
  await redis.del(key('permits'), key('permits-state'));
  expect(await lease.release()).toBe(true);
  expect(await redis.pttl(key('permits-state'))).toBeGreaterThan(WEEK_MS - 30_000);
  const held = await semaphore.acquire();
  const wait = new Semaphore(other, 'pool', { prefix, permits: 1 }).acquire();
  await queued(semaphore, 1);
  await redis.del(key('permits'), key('permits-state'), key('permits-queue'));
  await queued(semaphore, 1);
  expect(await redis.pttl(key('permits-state'))).toBeGreaterThan(WEEK_MS - 30_000);
  expect(await held.release()).toBe(true);
  expect(await (await wait).release()).toBe(true);
});
