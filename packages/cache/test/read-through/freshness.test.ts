import { describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { encodeEntry } from '../../src/read-through/envelope.js';
import { drawFor, dueFrom } from '../../src/read-through/freshness.js';
import { pagesOf } from '../fixture/cached.js';

const redis = connect();

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
