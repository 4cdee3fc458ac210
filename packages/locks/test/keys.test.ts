import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
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

test('a lock that is held and waited for has three keys of one slot, all of which expire', async () => {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, '}x', { prefix, leaseMs: 60_000 });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, '}x', { prefix }).acquire();
  await queued(mutex, 1);
  const keys = await keysOf(prefix);
  expect(Object.keys(keys)).toEqual(['locks:{%7Dx}:lease', 'locks:{%7Dx}:queue', 'locks:{%7Dx}:token']);
  const limits = {
    lease: ['string', 60_000],
    queue: ['zset', 60_000],
    token: ['string', 7 * 86_400_000],
  } as const;
  for (const [part, [type, limit]] of Object.entries(limits)) {
    const key = keys[`locks:{%7Dx}:${part}`];
    expect(key?.type).toBe(type);
    expect(key?.ttlMs).toBeGreaterThan(limit - 20_000);
    expect(key?.ttlMs).toBeLessThanOrEqual(limit);
  }
  await holder.release();
  await (await wait).release();
});

test('of a lock that nobody holds only the last token stays, with the expiry that the first grant gave it', async () => {
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
  expect(Object.keys(await keysOf(prefix))).toEqual(['locks:{lock}:token']);
});

test('reading and failing leave nothing behind', async () => {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, 'lock', { prefix });
  await mutex.inspect();
  await mutex.forceRelease();
  await expect(mutex.acquire({ waitMs: -1 })).rejects.toThrow(RangeError);
  expect(await keysOf(prefix)).toEqual({});
});

test('a waiter takes few bytes', async () => {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, 'lock', { prefix });
  const holder = await mutex.acquire();
  const queue = `${prefix}:locks:{lock}:queue`;
  const controller = new AbortController();
  const bytes = async (): Promise<number> => Number(await redis.memory('USAGE', queue));
  const waits = Array.from({ length: 100 }, () => mutex.acquire({ signal: controller.signal }));
  await queued(mutex, 100);
  expect((await bytes()) / 100).toBeLessThan(45);
  expect(await redis.object('ENCODING', queue)).toBe('listpack');
  controller.abort();
  await Promise.allSettled(waits);
  await holder.release();
});
