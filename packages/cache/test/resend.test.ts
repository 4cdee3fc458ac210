/** Each write of the package, executed twice because its reply was lost: the result that its caller gets, and what Redis has then. */
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { ChangeFeed, RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, interposed, resending, until } from '@mortise/test-kit';
import type { Change } from '../src/outbox.js';
import { memorySource } from './fixture/memory-source.js';
import { all, cacheOf, Database, keysOf, leasesOf, loaded } from './fixture/tables.js';

const redis = connect();
const resent = resending(redis);
const HOUR = { everyMs: 3_600_000 };

/** A cache with one entry. A lease lasts longer than the test. */
async function pages(prefix: string): Promise<Cache<string>> {
  const cache = new Cache<string>(resent, 'pages', {
    prefix,
    leaseMs: 600_000,
    commandTimeoutMs: 20_000,
  });
  await cache.set('stored', 'old', { tags: ['shop'] });
  return cache;
}

type Read = readonly (string | null | undefined)[];

test.each<[string, (cache: Cache<string>) => Promise<unknown>, unknown, Read]>([
  ['set', (cache) => cache.set('new', 'saws'), undefined, ['old', 'saws']],
  [
    'set with tags',
    (cache) => cache.set('stored', 'saws', { tags: ['shop'] }),
    undefined,
    ['saws', undefined],
  ],
  ['delete', (cache) => cache.delete('stored'), false, [undefined, undefined]],
  ['deleteMany', (cache) => cache.deleteMany(['stored', 'new']), 0, [undefined, undefined]],
  ['expire', (cache) => cache.expire('stored', 60_000), true, ['old', undefined]],
  ['expire at once', (cache) => cache.expire('stored', 0), false, [undefined, undefined]],
  ['invalidateTag', (cache) => cache.invalidateTag('shop'), undefined, [undefined, undefined]],
  ['getOrLoad', (cache) => cache.getOrLoad('new', () => 'saws'), 'saws', ['old', 'saws']],
  [
    'getOrLoad with tags',
    (cache) => cache.getOrLoad('new', () => 'saws', { tags: ['shop'] }),
    'saws',
    ['old', 'saws'],
  ],
  [
    'getOrLoad of several keys of a tick',
    (cache) => Promise.all(['new', 'newer'].map((key) => cache.getOrLoad(key, () => key))),
    ['new', 'newer'],
    ['old', 'new'],
  ],
  [
    'getOrLoad that fails, then one that loads',
    async (cache) => {
      await expect(cache.getOrLoad('new', () => Promise.reject(new Error('no saws')))).rejects.toThrow(
        'no saws',
      );
      return cache.getOrLoad('new', () => 'saws');
    },
    'saws',
    ['old', 'saws'],
  ],
  [
    'clear',
    async (cache) => {
      const own = cache.namespace('own');
      await own.set('stored', 'mine');
      await own.clear();
      return own.get('stored');
    },
    undefined,
    ['old', undefined],
  ],
])('Cache.%s', async (_, act, result, stored) => {
  const prefix = freshPrefix();
  const cache = await pages(prefix);
  expect(await act(cache)).toEqual(result);
  expect([await cache.get('stored'), await cache.get('new')]).toEqual(stored);
  expect(await redis.keys(`${prefix}:cache:*:lease:*`)).toEqual([]);
});

/** A table with the row "1". */
async function items(): Promise<RowCache> {
  const rows = new RowCache(resent, 'items', { prefix: freshPrefix() });
  await rows.schedule('1', HOUR);
  return rows;
}

test.each<[string, (rows: RowCache) => Promise<unknown>, unknown, number]>([
  ['schedule of a new row', (rows) => rows.schedule('2', HOUR), undefined, 2],
  ['schedule of a known row', (rows) => rows.schedule('1', HOUR), undefined, 1],
  ['schedule with another interval', (rows) => rows.schedule('1', { everyMs: 50 }), undefined, 1],
  ['schedule that removes', (rows) => rows.schedule('1', { everyMs: 0 }), undefined, 0],
  ['scheduleAll', (rows) => rows.scheduleAll(['1', '2', '3'], HOUR), 3, 3],
  ['unschedule', (rows) => rows.unschedule('1'), false, 0],
  ['refresh', (rows) => rows.refresh('1'), true, 1],
  ['refresh of an unknown row', (rows) => rows.refresh('2'), false, 1],
])('RowCache.%s', async (_, act, result, scheduled) => {
  const rows = await items();
  expect(await act(rows)).toEqual(result);
  expect(await rows.stats()).toMatchObject({ scheduled, loaded: 0, due: scheduled, failing: 0 });
});

test.each([
  ['rows', 3],
  ['a pack', 20],
])('RowLeases, a lease of %s', async (_, count) => {
  const ids = Array.from({ length: count }, (__, index) => String(index + 1));
  const rows = cacheOf(resent, new Database());
  const leases = leasesOf(resent, rows);
  const commit = async (name: string): Promise<unknown> => {
    const leased = await leases.lease();
    expect(leased.ids.toSorted()).toEqual(ids.toSorted());
    return leases.commit(leased, all(ids, loaded(rows, name)));
  };
  await rows.scheduleAll(ids, HOUR);
  // The second commit finds no lease.
  expect(await commit('first')).toMatchObject({ held: 0 });
  expect(await rows.stats()).toMatchObject({ scheduled: count, loaded: count, due: 0 });
  for (const set of [keysOf(rows).due, keysOf(rows).packs])
    for (const member of await redis.zrange(set, '0', '-1')) await redis.zadd(set, 1, member);
  await commit('second');
  expect(await rows.get('2')).toEqual({ name: 'second' });
  // Another call gets nothing of a lease that holds.
  await rows.refresh('1');
  expect((await leases.lease()).ids).toEqual(['1']);
  expect((await leasesOf(redis, rows).lease()).ids).toEqual([]);
});

test('RowLeases, a lease beside one of failed rows', async () => {
  const rows = cacheOf(redis, new Database());
  const leases = leasesOf(redis, rows);
  await rows.schedule('failed', HOUR);
  await leases.commit(await leases.lease(), all(['failed'], 'failed'));
  await redis.zadd(keysOf(rows).failed, 1, 'failed');
  await rows.schedule('1', HOUR);
  const beside = interposed(redis, async (_, send) => {
    await send();
    expect((await leases.leaseFailed()).ids).toEqual(['failed']);
    return send();
  });
  const leased = await leasesOf(beside, rows).lease();
  expect(leased.ids).toEqual(['1']);
  expect(await leases.commit(leased, all(['1'], loaded(rows)))).toMatchObject({ held: 1 });
});

test('ChangeFeed', async () => {
  const rows = await items();
  const changes: Change[] = [{ id: '1', key: ['1'] }];
  const source = memorySource(changes, 5);
  for (let feeds = 0; feeds < 2; feeds += 1) {
    changes.push({ id: '1', key: ['1'] });
    await using feed = new ChangeFeed(resent, source, rows, { leaseMs: 600_000 });
    await feed.start();
    await until('the changes to be handled', () => changes.length === 0);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1 });
    // The next feed need not wait for the end of the lease.
    await feed.stop();
  }
});
