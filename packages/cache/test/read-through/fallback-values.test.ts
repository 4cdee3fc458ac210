import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { FallbackValues } from '../../src/read-through/fallback-values.js';
import { pagesOf } from '../fixture/cached.js';

describe('FallbackValues', () => {
  test('counts bytes, and makes room by the oldest', () => {
    const values = new FallbackValues<string>({ entries: 10, bytes: 1_000 });
    for (const key of ['a', 'b', 'c']) values.set(key, key, { bytes: 200, ms: 60_000 });
    expect(['a', 'b', 'c'].map((key) => values.get(key))).toEqual([undefined, 'b', 'c']);
    expect([values.entries, values.bytes]).toEqual([2, 804]);
    values.set('b', 'again', { bytes: 0, ms: 60_000 });
    expect([values.get('b'), values.entries, values.bytes]).toEqual(['again', 2, 604]);
    values.set('huge', 'huge', { bytes: 1_000, ms: 60_000 });
    expect([values.get('huge'), values.entries]).toEqual([undefined, 2]);
    values.delete('c');
    values.clear();
    expect([values.entries, values.bytes]).toEqual([0, 0]);
  });

  test('has no more entries than it may', () => {
    const values = new FallbackValues<string>({ entries: 2, bytes: 100_000 });
    for (const key of ['a', 'b', 'c']) values.set(key, key, { bytes: 1, ms: 60_000 });
    expect(['a', 'b', 'c'].map((key) => values.get(key))).toEqual([undefined, 'b', 'c']);
    values.clear();
  });

  test('drops values at their end, also without a reader', async () => {
    const values = new FallbackValues<string>({ entries: 10, bytes: 100_000 });
    values.set('a', 'a', { bytes: 1, ms: 20 });
    values.set('b', 'b', { bytes: 1, ms: 40 });
    values.set('none', 'none', { bytes: 1, ms: 0 });
    expect(values.entries).toBe(2);
    await until('the end of all', () => values.entries === 0);
    expect(values.bytes).toBe(0);
    values.set('c', 'c', { bytes: 1, ms: 20 });
    await until('the end of a later one', () => values.entries === 0);
  });
});

test('a cache keeps a bounded number of bytes while Redis is unavailable', async () => {
  const redis = new Redis({ lazyConnect: true });
  redis.disconnect();
  const { cache, errors } = pagesOf<string>(redis, { fallbackTtlMs: 60_000, maxPayloadBytes: 30_000_000 });
  const loads = new Map<string, number>();
  const read = (key: string, value: string): Promise<unknown> =>
    cache.getOrLoad(key, () => {
      loads.set(key, (loads.get(key) ?? 0) + 1);
      return value;
    });
  const large = 'a'.repeat(25_000_000);
  for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) await read(key, large);
  // There is room for two.
  expect(Object.fromEntries(loads)).toEqual({ a: 2, b: 1, c: 1 });
  expect(errors[0]).toMatchObject({ code: 'ERR_CACHE_UNAVAILABLE' });
  // Nothing that would not be stored either.
  const larger = 'a'.repeat(30_000_000);
  for (let reads = 0; reads < 2; reads += 1) expect(await read('larger', larger)).toHaveLength(30_000_000);
  expect(loads.get('larger')).toBe(2);
  expect(errors).toContainEqual(
    expect.objectContaining({ code: 'ERR_CACHE_VALUE_TOO_LARGE', key: 'larger' }),
  );
});
