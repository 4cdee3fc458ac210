/** Which keys there are, and when they go away. */
import { describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { GatedLoader, pagesOf, waiting } from './fixture/cached.js';
import { cacheOf, Database, refresh } from './fixture/tables.js';

const redis = connect();
const other = connect();
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The time to live of each key under the prefix, by its name without it. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(keys.map((key, index) => [key.slice(prefix.length), times[index]!]));
}

describe('a cache', () => {
  test('every key is one of those in the reference, and goes away when it says', async () => {
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
});

describe('rows', () => {
  test('every key expires: rows when nobody loads them, the schedule when nobody touches it', async () => {
    const prefix = freshPrefix();
    const database = new Database().put('}x', 'often');
    const rows = cacheOf(redis, database, { prefix, keepMs: 10 * MINUTE_MS });
    const { refresher, errors } = await refresh(redis, rows, { backoff: { delayMs: MINUTE_MS } });
    await rows.schedule('}x', { everyMs: 2 * MINUTE_MS });
    await rows.schedule('often', { everyMs: 1_000_000 });
    await rows.schedule('never there', { everyMs: 1_000 });
    await until('the rows', async () => (await rows.getMany(['}x', 'often'])).size === 2);
    await until('the third to be taken out', async () => (await rows.stats()).scheduled === 2);
    await rows.schedule('often', { everyMs: 1_000 });
    database.failure = new Error('unavailable');
    await rows.refresh('often');
    // A load that was under way already may fail, too, but its result is refused.
    await until('the failure', async () => errors.length > 0 && (await rows.stats()).failing > 0);
    await refresher.stop();
    await rows.schedule('new', { everyMs: 1_000 });
    await refresher.start();
    await until('the source to be down', async () => (await rows.stats()).shardsDown === 1);
    await refresher.stop();
    await rows.get('unknown');

    const times = await timesToLive(prefix);
    const promised = {
      ':cache:{items}:due': 30 * DAY_MS,
      ':cache:{items}:errors': 30 * DAY_MS,
      ':cache:{items}:failed': 30 * DAY_MS,
      ':cache:{items}:failures': 30 * DAY_MS,
      ':cache:{items}:latest': 30 * DAY_MS,
      ':cache:{items}:row:%7Dx': 20 * MINUTE_MS,
      ':cache:{items}:row:often': 10_000_000,
      ':cache:{items}:rows': 30 * DAY_MS,
      ':cache:{items}:source': 30 * DAY_MS,
      ':cache:{items}:unloaded': 30 * DAY_MS,
    };
    expect(Object.keys(times)).toEqual(Object.keys(promised));
    for (const [key, promise] of Object.entries(promised)) {
      expect(times[key]).toBeLessThanOrEqual(promise);
      expect(times[key]).toBeGreaterThan(promise - 30_000);
    }
  });

  test('nothing stays of a row that is taken out', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database().put('1'), { prefix });
    const { refresher } = await refresh(redis, rows);
    await rows.schedule('1', { everyMs: 1_000_000 });
    await until('the row', async () => (await rows.get('1')) !== null);
    await rows.unschedule('1');
    await refresher.stop();
    expect(Object.keys(await timesToLive(prefix))).toEqual([':cache:{items}:latest']);
  });
});
