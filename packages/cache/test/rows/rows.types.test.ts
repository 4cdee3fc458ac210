import { expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { RefresherOptions, RowCacheStats } from '@mortise/cache/rows';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import { Database } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const { load } = new Database();

test('rows have the type that the loader gives', async () => {
  const prefix = freshPrefix();
  const rows = new RowCache(redis, 'items', { prefix, load });
  const row: Item | null = await rows.get('42');
  const many: Map<string, Item> = await rows.getMany(['42']);
  const stats: RowCacheStats = await rows.stats();
  // @ts-expect-error -- an Item has no price
  const price: unknown = row?.price;
  expect([row, many.size, stats.scheduled, price]).toEqual([null, 0, 0, undefined]);
});

test('tables of different rows go into one refresher', async () => {
  const prefix = freshPrefix();
  const counts = new RowCache<number>(redis, 'counts', {
    prefix,
    load: async (ids) => new Map(ids.map((id) => [id, 1])),
  });
  const refresher = new Refresher(redis, [new RowCache<Item>(redis, 'items', { prefix, load }), counts]);
  await expect(refresher.stop()).resolves.toBeUndefined();
});

test('misuse that the compiler refuses is refused at run time as well', async () => {
  const rows = new RowCache<Item>(redis, 'items', { prefix: freshPrefix(), load });
  // @ts-expect-error -- a URL is no client
  expect(() => new RowCache('redis://127.0.0.1', 'items', { load })).toThrow(TypeError);
  // @ts-expect-error -- a table is missing
  expect(() => new RowCache(redis, { load })).toThrow(TypeError);
  // @ts-expect-error -- an id is a string
  await expect(rows.get(42)).rejects.toThrow(TypeError);
  // @ts-expect-error -- how often?
  await expect(rows.schedule('42')).rejects.toThrow(TypeError);
  // @ts-expect-error -- tables come as a list
  expect(() => new Refresher(redis, rows)).toThrow(TypeError);
});

test('the compiler refuses options that do not exist, and loaders that answer something else', () => {
  // @ts-expect-error -- no such option
  const options: RefresherOptions = { pollMs: 50 };
  // @ts-expect-error -- ids are strings
  const rows = new RowCache<Item>(redis, 'items', { load: async () => new Map([[42, { name: 'x' }]]) });
  expect([options, rows.table]).toEqual([{ pollMs: 50 }, 'items']);
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new RowCache(cluster, 'items', { load }).table).toBe('items');
  cluster.disconnect();
});
