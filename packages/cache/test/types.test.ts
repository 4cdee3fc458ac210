import { describe, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import type { CacheOptions, CacheStats } from '@mortise/cache';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { RefresherOptions, RowCacheStats } from '@mortise/cache/rows';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import { Database } from './fixture/tables.js';
import type { Item } from './fixture/tables.js';

const redis = connect();

interface Page {
  readonly title: string;
}

const PAGE: Page = { title: 'Tools' };
const { load } = new Database();

describe('a cache', () => {
  test('values have the type that the loader gives', async () => {
    const pages = new Cache<Page>(redis, 'pages', { prefix: freshPrefix() });
    const loaded: Page | null = await pages.getOrLoad('tools', async () => PAGE);
    const narrow: { readonly title: 'Tools' } | null = await pages.getOrLoad('tools', () => ({
      title: 'Tools' as const,
    }));
    const known: Page | null | undefined = await pages.get('tools');
    const near: Page | null | undefined = pages.peek('tools');
    const many: Map<string, Page | null> = await pages.getMany(['tools']);
    const stats: CacheStats = pages.stats();
    // @ts-expect-error -- a Page has no price
    const price: unknown = loaded?.price;
    expect([loaded, narrow, known, near, many.size, stats.loads, price]).toEqual([
      PAGE,
      PAGE,
      PAGE,
      undefined,
      1,
      1,
      undefined,
    ]);
    // @ts-expect-error -- there may be none
    const page: Page = await pages.getOrLoad('none', () => null);
    expect(page).toBeNull();
  });

  test('the compiler refuses values and options that are not those of the cache', async () => {
    const pages = new Cache<Page>(redis, 'pages', { prefix: freshPrefix() });
    // @ts-expect-error -- a number is no Page
    await pages.set('one', 1);
    // @ts-expect-error -- nor is what this loader gives
    await pages.getOrLoad('two', () => 2);
    // @ts-expect-error -- no such option
    const options: CacheOptions<Page> = { ttl: 50 };
    expect([options, pages.name]).toEqual([{ ttl: 50 }, 'pages']);
  });

  test('misuse that the compiler refuses is refused at run time as well', async () => {
    // @ts-expect-error -- a URL is no client
    expect(() => new Cache('redis://127.0.0.1', 'pages')).toThrow(TypeError);
    // @ts-expect-error -- a name is missing
    expect(() => new Cache(redis)).toThrow(TypeError);
    // @ts-expect-error -- a codec has two functions
    expect(() => new Cache(redis, 'pages', { codec: {} })).toThrow(TypeError);
    // @ts-expect-error -- true is no bound
    expect(() => new Cache(redis, 'pages', { near: true })).toThrow(TypeError);
    // @ts-expect-error -- a key is a string
    await expect(new Cache(redis, 'pages').get(42)).rejects.toThrow(TypeError);
  });
});

describe('rows', () => {
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
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Cache(cluster, 'pages', { near: {} }).name).toBe('pages');
  expect(new RowCache(cluster, 'items', { load }).table).toBe('items');
  cluster.disconnect();
});
