/** `new Cache(null, …)`: the entries are in the memory of the process. It answers as a cache in Redis does. */
import { describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { Cache } from '../../src/read-through/cache.js';
import { cacheKeys } from '../../src/keys.js';
import { NearTier } from '../../src/near/near-tier.js';
import type { Loader } from '../../src/read-through/cache-view.js';
import { MemoryBackend } from '../../src/read-through/memory-backend.js';
import { GatedLoader, pagesOf } from '../fixture/cached.js';

const redis = connect();
const KEYS = ['a', 'b', 'c'];
const TAGS = ['x', 'y'];
const LONG_MS = 3_600_000;

const key = fc.constantFrom(...KEYS);
const tags = fc.subarray(TAGS);
const step = fc.oneof(
  fc.tuple(fc.constant('get' as const), key),
  fc.tuple(fc.constant('getMany' as const)),
  fc.tuple(fc.constant('load' as const), key, tags),
  fc.tuple(fc.constant('load with a function' as const), key, tags),
  fc.tuple(fc.constant('fail' as const), key),
  fc.tuple(fc.constant('load in the namespace' as const), key),
  fc.tuple(fc.constant('set' as const), key, tags),
  fc.tuple(fc.constant('none' as const), key),
  fc.tuple(fc.constant('delete' as const), key),
  fc.tuple(fc.constant('deleteMany' as const), fc.subarray(KEYS)),
  fc.tuple(fc.constant('expire' as const), key, fc.constantFrom(0, LONG_MS)),
  fc.tuple(fc.constant('invalidate' as const), fc.constantFrom(...TAGS)),
  fc.tuple(fc.constant('clear' as const)),
);

/** The answer to a step. A stale value is loaded again before the next one: `softTimeoutMs` is long. */
async function take(
  cache: Cache<number>,
  [what, ...args]: typeof step extends fc.Arbitrary<infer Step> ? Step : never,
  value: number,
): Promise<unknown> {
  const [on, more] = args as [string, never];
  switch (what) {
    case 'get':
      return cache.get(on);
    case 'getMany':
      return cache.getMany(KEYS);
    case 'load':
      return cache.getOrLoad(on, () => value, { tags: more });
    case 'load with a function':
      return cache.getOrLoad(on, () => value, { tags: () => more });
    case 'fail':
      return cache.getOrLoad(on, () => Promise.reject(new Error('no such row'))).catch(String);
    case 'load in the namespace':
      return cache.namespace('own').getOrLoad(on, () => value);
    case 'set':
      return cache.set(on, value, { tags: more });
    case 'none':
      return cache.set(on, null);
    case 'delete':
      return cache.delete(on);
    case 'deleteMany':
      return cache.deleteMany(args[0] as string[]);
    case 'expire':
      return cache.expire(on, more);
    case 'invalidate':
      return cache.invalidateTag(on);
    case 'clear':
      return cache.namespace('own').clear();
    default:
      throw new TypeError(`no such step: ${String(what)}`);
  }
}

test('step by step, it answers as a cache in Redis does', async () => {
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 60 }),
    fc.constantFrom(0, LONG_MS),
    async (steps, staleMs) => {
      const options = {
        ttlMs: LONG_MS,
        staleMs,
        softTimeoutMs: 600_000,
        retryMs: LONG_MS,
        onError: () => undefined,
      };
      const answers = await Promise.all(
        [null, redis].map(async (client) => {
          const { cache } = pagesOf<number>(client, options);
          const seen: unknown[] = [];
          for (const [index, one] of steps.entries()) seen.push([one, await take(cache, one, index)]);
          return seen;
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

describe('a cache without Redis', () => {
  test('loads once for all readers, and answers hits from the near tier', async () => {
    const { cache } = pagesOf<string>(null);
    const loader = new GatedLoader<string>();
    const reads = Array.from({ length: 20 }, () => cache.getOrLoad('tools', loader.load));
    (await loader.call(0)).open('saws');
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['saws']));
    expect(await cache.get('tools')).toBe('saws');
    expect(cache.peek('tools')).toBe('saws');
    expect(cache.stats()).toMatchObject({ loads: 1, nearEntries: 1, unavailable: 0 });
  });

  test('serves a stale value while it loads, and pauses after a failed load', async () => {
    const { cache, errors } = pagesOf<string>(null, { staleMs: LONG_MS, retryMs: LONG_MS });
    await cache.set('tools', 'saws');
    await cache.expire('tools', 0);
    const loader = new GatedLoader<string>();
    expect(await cache.getOrLoad('tools', loader.load)).toBe('saws');
    (await loader.call(0)).fail(new Error('no such shop'));
    await until('the report', () => errors.length > 0);
    expect(await cache.getOrLoad('tools', loader.load)).toBe('saws');
    expect(loader.calls).toHaveLength(1);
    // A reader without a value loads at once.
    await cache.delete('tools');
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
  });

  test.each<[string, (cache: Cache<string>) => Promise<unknown>]>([
    ['delete', (cache) => cache.delete('tools')],
    ['invalidateTag', (cache) => cache.invalidateTag('shop')],
    ['set', async (cache) => cache.set('tools', 'new', { tags: ['shop'] })],
  ])('%s keeps a load that began before from being stored', async (_, change) => {
    const { cache } = pagesOf<string>(null);
    const loader = new GatedLoader<string>();
    const early = cache.getOrLoad('tools', loader.load, { tags: () => ['shop'] });
    const call = await loader.call(0);
    await change(cache);
    const late = cache.getOrLoad('tools', () => 'new', { tags: () => ['shop'] });
    call.open('old');
    expect([await early, await late]).toEqual(['old', 'new']);
    expect(await cache.get('tools')).toBe('new');
  });

  test('a load whose own tags were invalidated is not stored, and a later reader loads again', async () => {
    const { cache } = pagesOf<string>(null);
    const loader = new GatedLoader<string>();
    const load: Loader<string> = async (_, entry) => {
      entry.tags = ['shop'];
      return loader.load();
    };
    const early = cache.getOrLoad('tools', load);
    const call = await loader.call(0);
    await cache.invalidateTag('shop');
    const late = cache.getOrLoad('tools', load);
    await until('its miss', () => cache.stats().misses === 2);
    call.open('old');
    expect(await early).toBe('old');
    (await loader.call(1)).open('new');
    expect(await late).toBe('new');
  });

  test('a stored value replaces the one in the near tier', async () => {
    const bounds = { entries: 10, bytes: 10_000 };
    const near = new NearTier<string>(bounds);
    const { shards } = new MemoryBackend(cacheKeys('pages', undefined, 0), near, bounds);
    const mark = near.mark([shards[0].keys.value('tools')]);
    const seen = Buffer.alloc(8);
    const life = { freshUntil: Infinity, earlyFrom: Infinity, loadMs: 0, isRead: false };
    near.keep(mark, 'tools', { value: 'saws', bytes: 4, tags: [], seen, ...life });
    expect(near.store.entries).toBe(1);
    const value = { key: 'tools', token: '', keepMs: 1_000, pauseMs: 0, body: seen, tags: [] };
    expect(await shards[0].store(value)).toBe(true);
    expect(near.store.entries).toBe(0);
  });

  test('ends values on time, and keeps no more than its bounds', async () => {
    const { cache } = pagesOf<string>(null, { near: { entries: 10 } });
    await cache.set('short', 'saws', { ttlMs: 1 });
    await until('its end', async () => (await cache.get('short')) === undefined);
    for (let index = 0; index < 100; index += 1) await cache.set(`page ${index}`, 'text');
    const known = await cache.getMany(Array.from({ length: 100 }, (_, index) => `page ${index}`));
    expect(known.size).toBe(10);
    expect(cache.stats().nearEntries).toBeLessThanOrEqual(10);
  });

  test("is nobody else's, and empty after stop", async () => {
    const prefix = freshPrefix();
    const { cache } = pagesOf<string>(null, { prefix });
    const { cache: there } = pagesOf<string>(null, { prefix });
    await cache.set('tools', 'saws');
    expect(await there.get('tools')).toBeUndefined();
    await cache.stop();
    expect(await cache.get('tools')).toBeUndefined();
    await cache.set('tools', 'planes');
    expect(await cache.get('tools')).toBe('planes');
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('undefined is refused: a client that somebody forgot is not one without Redis', () => {
    expect(() => new Cache(undefined as never, 'pages')).toThrow(TypeError);
  });
});
