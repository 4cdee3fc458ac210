/** Each write of the package, executed twice because its reply was lost: the result that its caller gets, and what Redis has then. */
import { afterEach, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { ChangeFeed, RowCache } from '@mortise/cache/rows';
import { waitFor } from '@mortise/redis';
import { connect, freshPrefix, resending, until } from '@mortise/test-kit';
import { setOutbox } from '../src/outbox.js';
import type { Change } from '../src/outbox.js';

const redis = connect();
const resent = resending(redis);
const HOUR = { everyMs: 3_600_000 };

const open = new Set<{ stop(): Promise<void> }>();

afterEach(async () => {
  await Promise.all([...open].map((one) => one.stop()));
  open.clear();
});

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

test('ChangeFeed', async () => {
  const rows = await items();
  const changes: Change[] = [{ id: '1', key: ['1'] }];
  const source = { load: async () => new Map<string, object>(), installOutbox: async () => undefined };
  setOutbox(source, {
    recheckMs: 5,
    open: async () => ({
      read: async () => [...changes],
      remove: async (done) => void changes.splice(0, done.length),
      wait: async (ms, signal) => void (await waitFor(new Promise(() => undefined), { waitMs: ms, signal })),
      close: async () => undefined,
    }),
  });
  for (let feeds = 0; feeds < 2; feeds += 1) {
    changes.push({ id: '1', key: ['1'] });
    const feed = new ChangeFeed(resent, source, rows, { leaseMs: 600_000 });
    open.add(feed);
    await feed.start();
    await until('the changes to be handled', () => changes.length === 0);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1 });
    // The next feed need not wait for the end of the lease.
    await feed.stop();
  }
});
