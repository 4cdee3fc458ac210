import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { jsonCodec } from '../../src/codec.js';
import { cacheKeys, namedBy } from '../../src/keys.js';
import { decodeEntry, encodeEntry } from '../../src/read-through/envelope.js';
import { FallbackValues } from '../../src/read-through/fallback-values.js';
import { drawFor, dueFrom } from '../../src/read-through/freshness.js';
import type { Loader } from '../../src/read-through/cache-view.js';
import type { LoadMany } from '../../src/read-through/options.js';
import { pagesOf } from '../fixture/cached.js';

const redis = connect();

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a value', () => {
  test('travels through the codec that the user gives, and may be compressed', async () => {
    const { cache, prefix } = pagesOf<Date>(redis, {
      codec: {
        encode: (date) => date.toISOString().repeat(100),
        decode: (bytes) => new Date(bytes.toString('utf8', 0, 24)),
      },
      compressFromBytes: 100,
    });
    const day = new Date('2026-11-22T00:00:00Z');
    await cache.set('day', day);
    expect(await cache.get('day')).toEqual(day);
    expect(await redis.strlen(`${prefix}:cache:{pages}:value:day`)).toBeLessThan(200);
  });

  test('is compressed only from that size on', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { compressFromBytes: 1_000 });
    await cache.set('short', 'a'.repeat(900));
    await cache.set('long', 'a'.repeat(998));
    const sizes = await Promise.all(
      ['short', 'long'].map((key) => redis.strlen(`${prefix}:cache:{pages}:value:${key}`)),
    );
    expect(sizes[0]).toBe(41 + 902);
    expect(sizes[1]).toBeLessThan(100);
    expect(await cache.get('long')).toBe('a'.repeat(998));
  });

  test('that cannot be stored is refused by set, and given but reported after a load', async () => {
    const { cache, errors } = pagesOf(redis, { maxPayloadBytes: 10 });
    const cause = '13 bytes, the limit is 10';
    const large = { code: 'ERR_CACHE_VALUE_TOO_LARGE', key: 'a', cause };
    await expect(cache.set('a', 'eleven char')).rejects.toMatchObject(large);
    await expect(cache.set('a', 1n)).rejects.toMatchObject({ code: 'ERR_CACHE_VALUE', key: 'a' });
    await expect(cache.set('a', () => 1)).rejects.toMatchObject({ code: 'ERR_CACHE_VALUE' });
    expect(await cache.getOrLoad('a', () => 'eleven char')).toBe('eleven char');
    expect(await cache.getOrLoad('a', () => 1n)).toBe(1n);
    const tags = (): string[] => {
      throw new Error('no tags');
    };
    expect(await cache.getOrLoad('a', () => 'short', { tags })).toBe('short');
    expect(errors).toMatchObject([large, { code: 'ERR_CACHE_VALUE' }, { code: 'ERR_CACHE_VALUE' }]);
    expect(await cache.get('a')).toBeUndefined();
  });

  test('that others would read as null is none that can be stored', async () => {
    const { cache, errors } = pagesOf(redis);
    const refused = { code: 'ERR_CACHE_VALUE', cache: 'pages', key: 'a' };
    for (const value of [Number.NaN, Infinity, new Date(Number.NaN)])
      await expect(cache.set('a', value)).rejects.toMatchObject(refused);
    expect(await cache.getOrLoad('a', () => Number.NaN)).toBeNaN();
    expect(errors).toMatchObject([refused]);
    expect(String(errors[0])).toMatch('value has NaN, which is not JSON');
    expect(await cache.get('a')).toBeUndefined();
    expect(await cache.getOrLoad('a', () => 5)).toBe(5);
  });

  test('that JSON would change is not stored, since other processes would read another one', async () => {
    const { cache, errors } = pagesOf(redis);
    const refused = { code: 'ERR_CACHE_VALUE', cache: 'pages', key: 'a' };
    for (const value of [
      new Map([['a', 1]]),
      new Set([1]),
      { price: Number.NaN },
      [undefined],
      { a: [() => 1] },
    ])
      await expect(cache.set('a', value)).rejects.toMatchObject(refused);
    expect(await cache.getOrLoad('a', () => new Map([['a', 1]]))).toEqual(new Map([['a', 1]]));
    expect(errors).toMatchObject([refused]);
    expect(await cache.get('a')).toBeUndefined();
  });

  test.each([
    [
      'of another version',
      async (prefix: string) => pagesOf(redis, { prefix, version: 1 }).cache.set('a', 'new'),
    ],
    ['of somebody else', async (prefix: string) => redis.set(`${prefix}:cache:{pages}:value:a`, 'short')],
    [
      'that the codec refuses',
      async (prefix: string) =>
        pagesOf<string>(redis, {
          prefix,
          codec: { encode: (text) => text, decode: (bytes) => bytes.toString() },
        }).cache.set('a', 'no JSON'),
    ],
  ])('%s reads as absent, and is replaced', async (_, write) => {
    const prefix = freshPrefix();
    const { cache } = pagesOf<string>(redis, { prefix });
    await write(prefix);
    expect(await cache.get('a')).toBeUndefined();
    expect(await cache.getOrLoad('a', () => 'loaded')).toBe('loaded');
    expect(await cache.get('a')).toBe('loaded');
  });

  test.each([
    ['throws', /cannot be read: no cipher \(see /],
    ['gives null', /cannot be read: the codec decodes it as null \(see /],
  ])('that the codec %s for is reported by its key', async (what, message) => {
    const decode = (bytes: Buffer): string => {
      const text = bytes.toString();
      if (text !== 'old') return text;
      if (what === 'throws') throw new Error('no cipher');
      return null as never;
    };
    const { cache, errors } = pagesOf<string>(redis, { codec: { encode: (text) => text, decode } });
    await cache.set('a', 'old');
    expect(await cache.getOrLoad('a', () => 'new')).toBe('new');
    expect(errors).toMatchObject([{ code: 'ERR_CACHE_VALUE', cache: 'pages', key: 'a' }]);
    expect((errors[0] as Error).message).toMatch(message);
    expect(await cache.get('a')).toBe('new');
  });

  test('is decoded from its bytes, and no other bytes pass for one', () => {
    const body = {
      isNull: false,
      isCompressed: true,
      ttlMs: 1.5,
      staleMs: 2 ** 40,
      loadMs: 7,
      tags: ['a', 'ü', '\0ns'],
      payload: Buffer.from('payload'),
    };
    const bytes = Buffer.concat([Buffer.alloc(16, 1), encodeEntry(body, 65_535)]);
    expect(decodeEntry(bytes, 65_535)).toMatchObject(body);
    expect(decodeEntry(bytes, 1)).toBeUndefined();
    for (let length = 0; length < bytes.length - body.payload.length; length += 1)
      expect(decodeEntry(bytes.subarray(0, length), 65_535)).toBeUndefined();
  });
});

describe('the life of a value', () => {
  test('is that of the cache, or its own, less a part at random', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { ttlMs: 1_000_000, staleMs: 500_000, jitter: 0.5 });
    const lifeOf = async (key: string): Promise<number> => redis.pttl(`${prefix}:cache:{pages}:value:${key}`);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    await cache.set('a', 'a');
    expect(await lifeOf('a')).toBeGreaterThan(1_400_000);
    jest.spyOn(Math, 'random').mockReturnValue(0.999_999);
    await cache.set('a', 'a');
    expect(await lifeOf('a')).toBeLessThanOrEqual(1_000_001);
    expect(await lifeOf('a')).toBeGreaterThan(900_000);
    await cache.set('a', 'a', { ttlMs: 10_000_000, staleMs: 0 });
    expect(await lifeOf('a')).toBeGreaterThan(4_000_000);
    expect(await lifeOf('a')).toBeLessThanOrEqual(5_000_010);
  });
});

describe('the entry that a loader gets', () => {
  const tagsOf = async (prefix: string): Promise<string[]> =>
    (await redis.keys(`${prefix}:cache:{pages}:tag:*`)).map((key) => key.split(':').at(-1)!);
  const lifeOf = (prefix: string, key: string): Promise<number> =>
    redis.pttl(`${prefix}:cache:{pages}:value:${key}`);

  test('decides the life and the tags of the value, in place of the options', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { ttlMs: 1_000, staleMs: 1_000 });
    const load: Loader<string> = (_, entry) => {
      entry.ttlMs = 600_000;
      entry.staleMs = 60_000;
      entry.tags = ['loaded'];
      return 'saws';
    };
    expect(await cache.getOrLoad('tools', load, { ttlMs: 5, tags: ['given'] })).toBe('saws');
    expect(await lifeOf(prefix, 'tools')).toBeGreaterThan(600_000);
    expect(await tagsOf(prefix)).toContain('loaded');
    await cache.invalidateTag('given');
    expect(await cache.get('tools')).toBe('saws');
    await cache.invalidateTag('loaded');
    expect(await cache.get('tools')).toBeUndefined();
  });

  test('decides how long an absence is known', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { negativeTtlMs: 0 });
    const load: Loader<string> = (_, entry) => {
      entry.ttlMs = 600_000;
      return null;
    };
    expect(await cache.getOrLoad('none', load)).toBeNull();
    expect(await lifeOf(prefix, 'none')).toBeGreaterThan(500_000);
  });

  test('with ttlMs 0 is not stored, and its lease is free', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { staleMs: 60_000 });
    const load: Loader<string> = (_, entry) => {
      entry.ttlMs = 0;
      return 'saws';
    };
    expect(await cache.getOrLoad('tools', load)).toBe('saws');
    expect(await redis.keys(`${prefix}:cache:{pages}:*:tools`)).toEqual([]);
    expect(cache.stats().loads).toBe(1);
  });

  test('is one for each key of the option load', async () => {
    const load: LoadMany<string> = async (keys, _, entryOf) => {
      for (const [index, key] of keys.entries()) if (index < 2) entryOf(key).ttlMs = (index + 1) * 600_000;
      return new Map(keys.map((key) => [key, key]));
    };
    const { cache, prefix } = pagesOf<string>(redis, { load, ttlMs: 60_000 });
    await cache.getOrLoadMany(['a', 'b', 'c']);
    const lives = await Promise.all(['a', 'b', 'c'].map((key) => lifeOf(prefix, key)));
    expect(lives.map((ms) => Math.ceil(ms / 60_000))).toEqual([10, 20, 1]);
  });

  test('of a key that was not requested fails the load', async () => {
    const load: LoadMany<string> = async (_keys, _signal, entryOf) => {
      entryOf('c').ttlMs = 5;
      return new Map();
    };
    const { cache } = pagesOf<string>(redis, { load });
    await expect(cache.getOrLoad('a')).rejects.toMatchObject({
      code: 'ERR_CACHE_LOAD_RESULT',
      message: expect.stringContaining('an entry for "c"'),
    });
  });

  test.each([
    ['ttlMs', -1],
    ['ttlMs', '5'],
    ['staleMs', Number.NaN],
    ['tags', ['']],
  ])('with %s %p is not stored, which is reported', async (option, value) => {
    const { cache, errors, prefix } = pagesOf<string>(redis);
    const load: Loader<string> = (_, entry) => {
      Object.assign(entry, { [option]: value });
      return 'saws';
    };
    expect(await cache.getOrLoad('tools', load)).toBe('saws');
    expect(errors).toMatchObject([{ code: 'ERR_CACHE_VALUE', cause: { code: 'ERR_INVALID_ARG' } }]);
    expect(await redis.keys(`${prefix}:cache:{pages}:*:tools`)).toEqual([]);
  });

  test('has no other properties', async () => {
    const { cache } = pagesOf<string>(redis);
    const load: Loader<string> = (_, entry) => {
      (entry as unknown as { ttl: number }).ttl = 5;
      return 'saws';
    };
    await expect(cache.getOrLoad('tools', load)).rejects.toThrow(/ttl/);
  });
});

describe('options', () => {
  test('of a call are refused whether or not the value is there', async () => {
    const { cache } = pagesOf<string>(redis);
    await cache.set('a', 'a');
    await expect(cache.getOrLoad('a', () => 'b', { ttlMs: 0 })).rejects.toThrow(RangeError);
    await expect(cache.getOrLoad('a', () => 'b', { tags: [''] })).rejects.toThrow(RangeError);
    await expect(
      cache.getOrLoad('a', () => 'b', { tags: Array.from({ length: 17 }, (_, index) => `${index}`) }),
    ).rejects.toThrow('tags must have 0 to 16 items, got 17');
    await expect(cache.get('')).rejects.toThrow(RangeError);
    await expect(cache.invalidateTag('\0x')).rejects.toThrow(RangeError);
  });

  test('onError that throws fails no read', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const thrown = new Error('a listener');
    const { cache, prefix } = pagesOf(redis, {
      staleMs: 3_600_000,
      onError: () => {
        throw thrown;
      },
    });
    expect(await cache.getOrLoad('a', () => 1n)).toBe(1n);
    expect(printed.mock.calls).toEqual([['mortise cache: onError threw', thrown]]);
    await cache.set('a', 'old', { ttlMs: 1 });
    const failing = (): never => {
      throw new Error('no such shop');
    };
    await until('the report', async () => {
      expect(await cache.getOrLoad('a', failing)).toBe('old');
      return printed.mock.calls.length === 2;
    });
    await redis.set(`${prefix}:cache:{pages}:value:b`, 'b'.repeat(100));
    expect(await cache.getOrLoad('b', () => 'b')).toBe('b');
  });
});

test('names of keys are found again in what Redis says of them', () => {
  const keys = cacheKeys('a:value:}', 'p', 3);
  for (const name of ['plain', '}:tag:x', 'new\nline', '\0ns\0key', '']) {
    expect(namedBy(keys.value(name))).toEqual({ part: 'value', name });
    expect(namedBy(keys.tag(name))).toEqual({ part: 'tag', name });
  }
  expect(namedBy(keys.lease('a'))).toBeUndefined();
});

test.each([
  [undefined, 'the value is not JSON: undefined'],
  [() => 1, 'the value is not JSON: function'],
  [null, 'the value is null in JSON, which means that there is none'],
  [{ toJSON: () => null }, 'the value is null in JSON, which means that there is none'],
  [Number.NaN, 'the value has NaN, which is not JSON'],
  [-Infinity, 'the value has -Infinity, which is not JSON'],
  [new Date(Number.NaN), 'the value has an invalid Date, which is not JSON'],
  [new Map(), 'the value has an instance of Map, which is not JSON'],
  [{ a: [1, { b: Number.NaN }] }, 'the value has NaN, which is not JSON'],
  [[undefined], 'the value has undefined in an array, which is not JSON'],
])('%p is refused by the codec', (value, message) => {
  expect(() => jsonCodec.encode(value)).toThrow(new TypeError(message));
});

test.each([0, false, '', 'null', [null], {}, { a: null }])('%p comes back from the codec', (value) => {
  expect(jsonCodec.decode(Buffer.from(jsonCodec.encode(value)))).toEqual(value);
});

const TIMING = { storedAt: 1_000, ttlMs: 100, staleMs: 0, loadMs: 10 };

describe('dueFrom', () => {
  test('is before the end by what the load took, and as much again at random', () => {
    expect(dueFrom(TIMING, 1, 1)).toBe(1_090);
    expect(dueFrom(TIMING, 1, Math.exp(-1))).toBe(1_080);
    expect(dueFrom(TIMING, 2, Math.exp(-1))).toBe(1_060);
    expect(dueFrom({ ...TIMING, loadMs: 5 }, 1, Math.exp(-3))).toBe(1_080);
  });

  test('is never in the first half of a life', () => {
    expect(dueFrom(TIMING, 1, 1e-9)).toBe(1_050);
    expect(dueFrom({ ...TIMING, loadMs: 1_000 }, 1, 1)).toBe(1_050);
  });

  test('is the end of what was set, of what is served stale, and where nobody wants it earlier', () => {
    expect(dueFrom({ ...TIMING, loadMs: 0 }, 1, 1e-9)).toBe(1_100);
    expect(dueFrom({ ...TIMING, staleMs: 1 }, 1, 1e-9)).toBe(1_100);
    expect(dueFrom(TIMING, 0, 1e-9)).toBe(1_100);
  });
});

test('drawFor gives one number for a token, and spreads those of tokens', () => {
  const first = 1_790_000_000_000_000;
  const drawn = Array.from({ length: 10_000 }, (_, index) => drawFor(first + index));
  expect(drawFor(first)).toBe(drawn[0]);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (const number of drawn) tenths[Math.ceil(number * 10) - 1]! += 1;
  for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(200);
});

describe('a value in the second half of its life', () => {
  /** Loaded long ago, as the server tells it: for how long it is still fresh, and what its load took. */
  async function stored(leftMs: number, loadMs: number, token: number) {
    const { cache, prefix } = pagesOf<string>(redis, { earlyRefresh: 1 });
    await cache.get('warm');
    const ttlMs = 1_000_000;
    const [seconds] = (await redis.time()) as unknown as [string];
    const stamp = Buffer.alloc(16);
    stamp.writeDoubleBE(token);
    stamp.writeDoubleBE(Number(seconds) * 1_000 + leftMs - ttlMs, 8);
    const payload = Buffer.from('"old"');
    const body = { isNull: false, isCompressed: false, ttlMs, staleMs: 0, loadMs, tags: [], payload };
    const value = Buffer.concat([stamp, encodeEntry(body, 0)]);
    await redis.set(`${prefix}:cache:{pages}:value:a`, value, 'PX', leftMs);
    return cache;
  }

  test('is loaded in the background when it ends within the time of its load', async () => {
    const cache = await stored(90_000, 100_000, 1);
    expect(await cache.getOrLoad('a', () => 'new')).toBe('old');
    await until('the load', async () => (await cache.get('a')) === 'new');
    expect(cache.stats().loads).toBe(1);
  });

  test('is not loaded sooner because it is read often', async () => {
    let token = 1;
    while (drawFor(token) < 0.5) token += 1;
    const cache = await stored(250_000, 100_000, token);
    for (let reads = 0; reads < 500; reads += 1) expect(await cache.getOrLoad('a', () => 'new')).toBe('old');
    expect(await cache.get('a')).toBe('old');
    expect(cache.stats().loads).toBe(0);
  });
});

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
  const away = new Redis({ lazyConnect: true });
  away.disconnect();
  const { cache, errors } = pagesOf<string>(away, { fallbackTtlMs: 60_000, maxPayloadBytes: 30_000_000 });
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
  expect(errors[0]).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  // Nothing that would not be stored either.
  const larger = 'a'.repeat(30_000_000);
  for (let reads = 0; reads < 2; reads += 1) expect(await read('larger', larger)).toHaveLength(30_000_000);
  expect(loads.get('larger')).toBe(2);
  expect(errors).toContainEqual(
    expect.objectContaining({ code: 'ERR_CACHE_VALUE_TOO_LARGE', key: 'larger' }),
  );
});
