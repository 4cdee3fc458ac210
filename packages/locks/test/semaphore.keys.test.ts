import { expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { queued } from './queued.js';

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

test('a semaphore that is held and waited for has three keys of one slot, all of which expire', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, '}x', { prefix, permits: 1 });
  const lease = await semaphore.acquire();
  const wait = new Semaphore(other, '}x', { prefix, permits: 1 }).acquire();
  await queued(semaphore, 1);
  const keys = await keysOf(prefix);
  const limits = {
    'locks:{%7Dx}:permits': ['zset', WEEK_MS],
    'locks:{%7Dx}:permits-queue': ['zset', 60_000],
    'locks:{%7Dx}:permits-state': ['string', WEEK_MS],
  } as const;
  expect(Object.keys(keys)).toEqual(Object.keys(limits));
  for (const [key, [type, limit]] of Object.entries(limits)) {
    expect(keys[key]?.type).toBe(type);
    expect(keys[key]?.ttlMs).toBeGreaterThan(limit - 20_000);
    expect(keys[key]?.ttlMs).toBeLessThanOrEqual(limit);
  }
  await lease.release();
  await (await wait).release();
  expect(Object.keys(await keysOf(prefix))).toEqual(['locks:{%7Dx}:permits-state']);
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

test('reading and failing leave nothing behind, and a refused caller does not keep the limit alive', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 2 });
  await semaphore.inspect();
  await semaphore.available();
  const holder = 'abcdefghijklmnop.1.1000.1';
  expect(await semaphore.releaseFor(holder)).toBe(false);
  expect(await semaphore.renewFor(holder)).toBe(false);
  await expect(semaphore.acquire({ waitMs: -1 })).rejects.toThrow(RangeError);
  expect(await keysOf(prefix)).toEqual({});
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

test('a permit and a waiter take few bytes', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 100 });
  const bytes = async (part: string): Promise<number> =>
    Number(await redis.memory('USAGE', `${prefix}:locks:{pool}:${part}`));
  const leases = await Promise.all(Array.from({ length: 100 }, () => semaphore.acquire()));
  expect((await bytes('permits')) / 100).toBeLessThan(45);
  const controller = new AbortController();
  const waits = Array.from({ length: 100 }, () => semaphore.acquire({ signal: controller.signal }));
  await queued(semaphore, 100);
  expect((await bytes('permits-queue')) / 100).toBeLessThan(45);
  expect(await bytes('permits-state')).toBeLessThan(200);
  controller.abort();
  await Promise.allSettled(waits);
  await Promise.all(leases.map((lease) => lease.release()));
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
