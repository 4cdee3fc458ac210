import { afterEach, expect, test } from '@jest/globals';
import { Cache } from '../../src/index.js';
import { Refresher, RowCache } from '../../src/rows/index.js';
import type { CacheMatchers } from '../../src/testing/index.js';
import { cacheMatchers, MemoryRedis } from '../../src/testing/index.js';

expect.extend(cacheMatchers);
const expectCache = expect as unknown as (cache: object) => CacheMatchers & { not: CacheMatchers };

let memory: MemoryRedis | undefined;

function opened(): MemoryRedis {
  memory = new MemoryRedis();
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

test('a value is loaded once, and again after its time', async () => {
  const redis = opened();
  const cache = new Cache(redis, 'pages', { ttlMs: 60_000 });
  let loads = 0;
  const load = async (): Promise<number> => (loads += 1);
  expect(await cache.getOrLoad('a', load)).toBe(1);
  expect(await cache.getOrLoad('a', load)).toBe(1);
  await expectCache(cache).toHaveCached('a');
  await expectCache(cache).toHaveCached('a', 1);
  await expectCache(cache).not.toHaveCached('a', 2);
  await expect(expectCache(cache).toHaveCached('b')).rejects.toThrow(/it has undefined/);
  await redis.clock.advance('2m');
  await expectCache(cache).not.toHaveCached('a');
  expect(await cache.getOrLoad('a', load)).toBe(2);
});

test('rows are refreshed on time', async () => {
  const redis = opened();
  let loads = 0;
  const load = async (ids: readonly string[]): Promise<Map<string, number>> => {
    loads += 1;
    return new Map(ids.map((id) => [id, loads]));
  };
  const rows = new RowCache<number>(redis, 'inventory', { load });
  const refresher = new Refresher(redis, [rows]);
  await refresher.start();
  await rows.schedule('42', { everyMs: 5_000 });
  await redis.clock.advance('1m');
  expect(loads).toBeGreaterThan(8);
  expect(loads).toBeLessThan(16);
  expect(await rows.get('42')).toBe(loads);
  await refresher.stop();
});

test('rows are listed with their last errors', async () => {
  const redis = opened();
  const rows = new RowCache<number>(redis, 'inventory', {
    load: () => Promise.reject(new Error('the table is locked')),
  });
  await using refresher = new Refresher(redis, [rows], { onError: () => undefined });
  await refresher.start();
  await rows.schedule('42', { everyMs: 60_000 });
  await redis.clock.advance('1s');
  const { rows: listed, cursor } = await rows.list({ failing: true });
  expect(listed).toMatchObject([
    { id: '42', everyMs: 60_000, ageMs: null, lastError: 'the table is locked' },
  ]);
  expect(cursor).toBeNull();
});
