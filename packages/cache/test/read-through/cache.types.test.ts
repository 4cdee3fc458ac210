import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import type { CacheOptions, CacheStats } from '@mortise/cache';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

interface Page {
  readonly title: string;
}

const redis = connect();
const PAGE: Page = { title: 'Tools' };

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

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Cache(cluster, 'pages', { near: {} }).name).toBe('pages');
  cluster.disconnect();
});
