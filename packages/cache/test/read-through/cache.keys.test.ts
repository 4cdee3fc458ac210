import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { GatedLoader, pagesOf, waiting } from '../fixture/cached.js';

const redis = connect();
const other = connect();
const MINUTE_MS = 60_000;

/** The time to live of each key under the prefix, by its name without it. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(keys.map((key, index) => [key.slice(prefix.length), times[index]!]));
}

test('every key is one of those in the README, and goes away when it says', async () => {
  const prefix = freshPrefix();
  const { cache } = pagesOf<string>(redis, { prefix, ttlMs: 30 * MINUTE_MS, staleMs: 10 * MINUTE_MS });
  const loader = new GatedLoader<string>();
  const loading = cache.getOrLoad('}x', loader.load);
  const call = await loader.call(0);
  const waits = pagesOf<string>(other, { prefix }).cache.getOrLoad('}x', () => 'other');
  await waiting(redis, prefix, '%7Dx');
  await cache.set('page', 'text', { tags: ['shop'] });
  await cache.namespace('ann').set('page', 'text');
  await cache.invalidateTag('gone');
  const promised = {
    ':cache:{pages}:lease:%7Dx': 3_000,
    ':cache:{pages}:seq': 24 * 60 * MINUTE_MS,
    ':cache:{pages}:tag:%00ann': 80 * MINUTE_MS,
    ':cache:{pages}:tag:gone': 60 * MINUTE_MS,
    ':cache:{pages}:tag:shop': 80 * MINUTE_MS,
    ':cache:{pages}:value:%00ann%00page': 40 * MINUTE_MS,
    ':cache:{pages}:value:page': 40 * MINUTE_MS,
  };
  const times = await timesToLive(prefix);
  expect(Object.keys(times)).toEqual(Object.keys(promised));
  for (const [key, promise] of Object.entries(promised)) {
    expect(times[key]).toBeLessThanOrEqual(promise);
    expect(times[key]).toBeGreaterThan(promise < MINUTE_MS ? 0 : promise - MINUTE_MS);
  }
  call.open('text');
  expect(await Promise.all([loading, waits])).toEqual(['text', 'text']);
  await until('the end of the lease', async () => {
    return !((await redis.exists(`${prefix}:cache:{pages}:lease:%7Dx`)) > 0);
  });
});

test('nothing but versions stays of what is removed', async () => {
  const prefix = freshPrefix();
  const { cache } = pagesOf<string>(redis, { prefix });
  await cache.getOrLoad('a', () => 'a', { tags: ['shop'] });
  await cache.getOrLoad('none', () => null, {});
  await cache.delete('a');
  await cache.delete('none');
  await expect(
    cache.getOrLoad('failing', () => {
      throw new Error('no such shop');
    }),
  ).rejects.toThrow('no such shop');
  expect(Object.keys(await timesToLive(prefix))).toEqual([':cache:{pages}:seq', ':cache:{pages}:tag:shop']);
});
