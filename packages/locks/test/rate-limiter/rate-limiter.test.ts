import { describe, expect, test } from '@jest/globals';
import { RateLimiter } from '@mortise/locks';
import type { RateLimiterOptions, TakeResult } from '@mortise/locks';
import { MemoryRedis } from '@mortise/locks/testing';
import type { RedisClient } from '@mortise/redis';
import { startSingle } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, transcript } from '@mortise/test-kit';

const redis = connect();
const other = connect();

/** So slow that nothing comes back while a test runs. */
const SLOW = { limit: 10, periodMs: 86_400_000 };

function limiter(
  options: Partial<RateLimiterOptions> = {},
  prefix = freshPrefix(),
  client: RedisClient = redis,
): RateLimiter {
  return new RateLimiter(client, 'calls', { ...SLOW, prefix, ...options });
}

const keyOf = (prefix: string): string => `${prefix}:locks:{calls}:rate`;

describe('take', () => {
  test('gives the burst at once, then refuses and says when to come again', async () => {
    const calls = limiter();
    const results: TakeResult[] = [];
    for (let index = 0; index < 11; index += 1) results.push(await calls.take());
    expect(results.map(({ isAllowed }) => isAllowed)).toEqual([...Array(10).fill(true), false]);
    expect(results.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
    expect(results.slice(0, 10).every(({ retryAfterMs }) => retryAfterMs === 0)).toBe(true);
    const intervalMs = SLOW.periodMs / SLOW.limit;
    expect(results[10]!.retryAfterMs).toBeLessThanOrEqual(intervalMs);
    expect(results[10]!.retryAfterMs).toBeGreaterThan(intervalMs - 60_000);
    expect(results[10]!.resetAfterMs).toBeLessThanOrEqual(SLOW.periodMs);
    expect(results[10]!.resetAfterMs).toBeGreaterThan(SLOW.periodMs - 60_000);
  });

  test('takes all that a call costs, or nothing', async () => {
    const calls = limiter();
    expect(await calls.take(7)).toMatchObject({ isAllowed: true, remaining: 3 });
    expect(await calls.take(4)).toMatchObject({ isAllowed: false, remaining: 3 });
    expect(await calls.take(3)).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test('a cost of 0 looks', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    const full = { isAllowed: true, remaining: 10, retryAfterMs: 0, resetAfterMs: 0 };
    expect(await calls.take(0)).toEqual(full);
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
    await calls.take(10);
    expect(await calls.take(0)).toMatchObject({ isAllowed: true, remaining: 0, retryAfterMs: 0 });
  });

  test('a refused take changes nothing', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    await calls.take(8);
    const before = [await redis.get(keyOf(prefix)), await redis.pexpiretime(keyOf(prefix))];
    for (let index = 0; index < 20; index += 1) expect((await calls.take(3)).isAllowed).toBe(false);
    expect([await redis.get(keyOf(prefix)), await redis.pexpiretime(keyOf(prefix))]).toEqual(before);
    expect(await calls.take(2)).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test('calls of one tick see each other, in their order', async () => {
    const calls = limiter();
    const results = await Promise.all([6, 5, 4, 1, 0].map((cost) => calls.take(cost)));
    expect(results.map(({ isAllowed, remaining }) => [isAllowed, remaining])).toEqual([
      [true, 4],
      [false, 4],
      [true, 0],
      [false, 0],
      [true, 0],
    ]);
  });

  test('objects of the same name are one limiter, also in one call', async () => {
    const prefix = freshPrefix();
    const results = await Promise.all(Array.from({ length: 300 }, () => limiter({}, prefix).take()));
    expect(results.filter(({ isAllowed }) => isAllowed)).toHaveLength(10);
    const elsewhere = new RateLimiter(other, 'calls', { ...SLOW, prefix });
    expect(await elsewhere.take()).toMatchObject({ isAllowed: false });
    expect(await new RateLimiter(redis, 'mails', { ...SLOW, prefix }).take()).toMatchObject({ remaining: 9 });
  });

  test('takes of different limiters in one tick share a call; a key of another type fails its own alone', async () => {
    // The other one is a Cluster of one server.
    const server = await startSingle();
    const alone = connect(server.url);
    const prefix = freshPrefix();
    const named = (name: string): RateLimiter => new RateLimiter(alone, name, { ...SLOW, prefix });
    const lines = await transcript(alone, { prefix }, async () => {
      await Promise.all([named('a').take(2), named('b').take(3), named('a').take()]);
    });
    expect(lines.filter((line) => line.startsWith('evalsha'))).toHaveLength(1);
    await alone.rpush(`${prefix}:locks:{c}:rate`, 'no rate');
    const [a, c, b] = await Promise.allSettled([named('a').take(), named('c').take(), named('b').take()]);
    expect(c.status).toBe('rejected');
    expect([a, b]).toMatchObject([{ value: { remaining: 6 } }, { value: { remaining: 6 } }]);
    disconnect(alone);
    await server.stop();
  });

  test.each([
    { limit: 7, periodMs: 100, burst: 3 },
    { limit: 1, periodMs: 20 },
    { limit: 300, periodMs: 1_000, burst: 90 },
  ])(
    'is allowed after retryAfterMs and not before, and the burst is whole after resetAfterMs: %o',
    async (options) => {
      // Its clock moves only here, and loses less than a ms: the µs of a ms are those of its commands.
      await using memory = new MemoryRedis();
      const calls = limiter(options, freshPrefix(), memory);
      for (let round = 0; round < 5; round += 1) {
        const cost = 1 + (round % calls.burst);
        while ((await calls.take(cost)).isAllowed);
        const { retryAfterMs } = await calls.take(cost);
        await memory.clock.advance(retryAfterMs - 1);
        expect((await calls.take(cost)).isAllowed).toBe(false);
        await memory.clock.advance(2);
        expect((await calls.take(cost)).isAllowed).toBe(true);
      }
      const { resetAfterMs } = await calls.take(0);
      await memory.clock.advance(resetAfterMs - 1);
      expect((await calls.take(0)).resetAfterMs).toBeGreaterThan(0);
      await memory.clock.advance(2);
      expect(await calls.take(0)).toMatchObject({ remaining: calls.burst, resetAfterMs: 0 });
    },
  );

  test('a burst of 1 spaces the permits evenly', async () => {
    const calls = limiter({ limit: 1_000, periodMs: 86_400_000, burst: 1 });
    expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 0 });
    const { isAllowed, retryAfterMs } = await calls.take();
    expect(isAllowed).toBe(false);
    expect(retryAfterMs).toBeLessThanOrEqual(86_400);
    expect(retryAfterMs).toBeGreaterThan(60_000);
  });

  test('works at the limits of its options without losing a permit', async () => {
    const most = limiter({ limit: 10_000_000, periodMs: 2_678_400_000 });
    expect(await most.take(9_999_999)).toMatchObject({ isAllowed: true, remaining: 1 });
    expect(await most.take(2)).toMatchObject({ isAllowed: false, remaining: 1 });
    expect(await most.take(1)).toMatchObject({ isAllowed: true, remaining: 0 });
    const odd = limiter({ limit: 9_999_991, periodMs: 2_678_399_999 });
    const costs = Array.from({ length: 100 }, () => 99_999);
    const results = await Promise.all(costs.map((cost) => odd.take(cost)));
    expect(results.every(({ isAllowed }) => isAllowed)).toBe(true);
    expect(results.at(-1)!.remaining).toBe(9_999_991 - 9_999_900);
    const rare = limiter({ limit: 1, periodMs: 2_678_400_000, burst: 11 });
    expect(await rare.take(11)).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test('goes on after SCRIPT FLUSH; after FLUSHALL the burst is whole again', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    await calls.take(4);
    await redis.script('FLUSH');
    expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 5 });
    // The effect of FLUSHALL on this limiter; other tests share the server.
    await redis.del(keyOf(prefix));
    expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 9 });
  });
});

describe('a clock that is set', () => {
  /** The value of an exhausted limiter after the server's clock went back by this time. */
  async function setBack(
    prefix: string,
    byMs: number,
    periodMs = SLOW.periodMs,
    client: RedisClient = redis,
  ): Promise<void> {
    const [seconds, us] = ((await client.call('TIME', [])) as string[]).map(Number) as [number, number];
    const instant = seconds * 1_000_000 + us + (periodMs + byMs) * 1_000;
    await client.call('SET', [keyOf(prefix), instant, 'PX', byMs + periodMs]);
  }

  test('back: nobody waits for longer than a whole burst takes, and the wait goes by', async () => {
    await using memory = new MemoryRedis();
    const prefix = freshPrefix();
    const calls = limiter({ limit: 5, periodMs: 100 }, prefix, memory);
    await setBack(prefix, 3_600_000, 100, memory);
    expect(await calls.take(5)).toEqual({
      isAllowed: false,
      remaining: 0,
      retryAfterMs: 100,
      resetAfterMs: 100,
    });
    // Somebody who asks all the time does not put it off.
    for (let ms = 1; ms < 100; ms += 1) {
      await memory.clock.advance(1);
      expect(await calls.take(5)).toMatchObject({ isAllowed: false });
    }
    await memory.clock.advance(2);
    expect(await calls.take(5)).toMatchObject({ isAllowed: true });
  });

  test('back: a look alone repairs it as well', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    await calls.take(10);
    await setBack(prefix, 3_600_000);
    const { resetAfterMs } = await calls.take(0);
    expect(resetAfterMs).toBe(SLOW.periodMs);
    expect(await redis.pttl(keyOf(prefix))).toBeLessThanOrEqual(SLOW.periodMs + 1);
  });

  test('forward: the burst is whole early, never larger', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    await calls.take(10);
    await redis.set(keyOf(prefix), '1000000:3', 'PX', 60_000);
    expect(await calls.take(0)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
    expect(await calls.take(10)).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test('a changed limit is in force at once, and takes what it finds as time', async () => {
    const prefix = freshPrefix();
    await limiter({ limit: 7, burst: 7 }, prefix).take(3);
    expect(await limiter({ limit: 14, burst: 14 }, prefix).take(0)).toMatchObject({ remaining: 8 });
    expect(await limiter({ limit: 7, burst: 1 }, prefix).take()).toMatchObject({
      isAllowed: false,
      remaining: 0,
    });
    expect(await limiter({ limit: 3, burst: 3 }, prefix).take(0)).toMatchObject({ remaining: 2 });
  });
});

describe('peek', () => {
  test('has what a take of 0 returns, and writes nothing', async () => {
    const prefix = freshPrefix();
    const calls = limiter({ burst: 15 }, prefix);
    expect(await calls.peek()).toEqual({ remaining: 15, resetAfterMs: 0 });
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
    await calls.take(4);
    const before = await redis.get(keyOf(prefix));
    const { remaining, resetAfterMs } = await calls.peek();
    const looked = await calls.take(0);
    expect(remaining).toBe(11);
    expect(looked.remaining).toBe(11);
    expect(resetAfterMs - looked.resetAfterMs).toBeLessThan(10_000);
    expect(resetAfterMs).toBeGreaterThanOrEqual(looked.resetAfterMs);
    expect(await redis.get(keyOf(prefix))).toBe(before);
  });

  test.each([
    [3, 7, 5],
    [7, 2_678_400_000, 9],
    [1_000_003, 86_400_000, 999_999],
    [10_000_000, 1, 10_000_000],
  ])('is exact for %p permits in %p ms, and a burst of %p', async (limit, periodMs, burst) => {
    const calls = limiter({ limit, periodMs, burst });
    for (const cost of [1, Math.ceil(burst / 3)]) {
      const taken = await calls.take(cost);
      const [seen, later] = [await calls.peek(), await calls.take(0)];
      expect(seen.remaining).toBeGreaterThanOrEqual(taken.remaining);
      expect(seen.remaining).toBeLessThanOrEqual(later.remaining);
      expect(seen.resetAfterMs).toBeLessThanOrEqual(taken.resetAfterMs);
      expect(seen.resetAfterMs).toBeGreaterThanOrEqual(later.resetAfterMs);
    }
  });

  test('has the options of its object, also those of a smaller burst', async () => {
    const prefix = freshPrefix();
    await limiter({}, prefix).take(10);
    expect((await limiter({ limit: 20, burst: 20 }, prefix).peek()).remaining).toBe(0);
    const small = await limiter({ burst: 2 }, prefix).peek();
    expect(small).toEqual({ remaining: 0, resetAfterMs: (2 * SLOW.periodMs) / SLOW.limit });
  });

  test('works with a user that may only read, as inspect does', async () => {
    const prefix = freshPrefix();
    const user = `reader-${prefix.replaceAll(':', '-')}`;
    await limiter({}, prefix).take(3);
    await redis.acl('SETUSER', user, 'on', '>secret', `%R~${prefix}:*`, '+@all', '-@admin');
    const reader = redis.duplicate({ username: user, password: 'secret' });
    expect((await new RateLimiter(reader, 'calls', { ...SLOW, prefix }).peek()).remaining).toBe(7);
    expect((await RateLimiter.inspect(reader, 'calls', { prefix }))!.remaining).toBe(7);
    await expect(new RateLimiter(reader, 'calls', { ...SLOW, prefix }).take()).rejects.toThrow('NOPERM');
    reader.disconnect();
    await redis.acl('DELUSER', user);
  });
});

describe('inspect', () => {
  test('knows the options of the last take that changed it', async () => {
    const prefix = freshPrefix();
    const inspect = (): ReturnType<typeof RateLimiter.inspect> =>
      RateLimiter.inspect(redis, 'calls', { prefix });
    expect(await inspect()).toBeNull();
    await limiter({}, prefix).take(4);
    const first = await inspect();
    expect(first).toMatchObject({ terms: { ...SLOW, burst: 10 }, remaining: 6 });
    expect(first!.resetAfterMs).toBeGreaterThan(0.4 * SLOW.periodMs - 60_000);
    const wider = { limit: 1_000, periodMs: 86_400_000, burst: 2_000 };
    await limiter(wider, prefix).take(600);
    expect(await inspect()).toMatchObject({ terms: wider, remaining: 1_000 });
    // A refused one has stored nothing.
    await limiter({ ...wider, limit: 1_001 }, prefix).take(1_001);
    expect(await inspect()).toMatchObject({ terms: wider });
    await limiter({}, prefix).reset();
    expect(await inspect()).toBeNull();
  });

  test('has no options of a state that a former version has stored', async () => {
    const prefix = freshPrefix();
    const [seconds] = await redis.time();
    await redis.set(keyOf(prefix), `${Number(seconds) + 60}000000 abcdefgh1`);
    const { resetAfterMs, ...rest } = (await RateLimiter.inspect(redis, 'calls', { prefix }))!;
    expect(rest).toEqual({ terms: null, remaining: null });
    expect(resetAfterMs).toBeGreaterThan(50_000);
    expect(resetAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('refuses a wrong client, name and prefix', async () => {
    await expect(RateLimiter.inspect({} as never, 'a')).rejects.toThrow(TypeError);
    await expect(RateLimiter.inspect(redis, '')).rejects.toThrow('name');
    await expect(RateLimiter.inspect(redis, 'a', { prefix: 5 as never })).rejects.toThrow('prefix');
  });
});

describe('reset', () => {
  test('gives the burst back and leaves no key', async () => {
    const prefix = freshPrefix();
    const calls = limiter({}, prefix);
    await calls.take(10);
    expect(await redis.keys(`${prefix}:*`)).toHaveLength(1);
    await calls.reset();
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
    expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 9 });
  });

  test('keeps its place among takes of the same tick', async () => {
    const calls = limiter();
    const [first, , second, third] = await Promise.all([
      calls.take(10),
      calls.reset(),
      calls.take(8),
      calls.take(8),
    ]);
    expect([first, second, third]).toMatchObject([
      { remaining: 0 },
      { isAllowed: true, remaining: 2 },
      { isAllowed: false },
    ]);
  });
});

describe('misuse', () => {
  const numbers = [0, -1, 1.5, Number.NaN, Infinity, -Infinity, 10_000_001, 2 ** 53];

  test.each(numbers)('limit %p is refused', (limit) => {
    expect(() => limiter({ limit })).toThrow(
      new RangeError(`limit must be a whole number from 1 to 10000000, got ${limit}`),
    );
  });

  test.each([0, -1, 0.5, Number.NaN, Infinity, 2_678_400_001])('periodMs %p is refused', (periodMs) => {
    expect(() => limiter({ periodMs })).toThrow(
      new RangeError(`periodMs must be a whole number from 1 to 2678400000, got ${periodMs}`),
    );
  });

  test.each(numbers)('burst %p is refused', (burst) => {
    expect(() => limiter({ burst })).toThrow(RangeError);
  });

  test('a burst that takes more than 366 days to come back is refused', () => {
    const options = { limit: 1, periodMs: 2_678_400_000, burst: 12 };
    expect(() => limiter(options)).toThrow('burst must be a whole number from 1 to 11, got 12');
  });

  test.each([-1, 11, 0.5, Number.NaN, Infinity, -Infinity])('a cost of %p is refused', async (cost) => {
    const prefix = freshPrefix();
    await expect(limiter({}, prefix).take(cost)).rejects.toThrow(
      new RangeError(`cost must be a whole number from 0 to 10, got ${cost}`),
    );
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test.each(['1', null, 1n, [1]])('a cost of another type is refused: %p', async (cost) => {
    await expect(limiter().take(cost as unknown as number)).rejects.toThrow(TypeError);
  });

  test.each([
    { limit: '10' },
    { limit: null },
    { limit: undefined },
    { periodMs: '1' },
    { periodMs: undefined },
    { burst: null },
  ])('an option of another type is refused: %p', (options) => {
    expect(() => limiter(options as unknown as RateLimiterOptions)).toThrow(TypeError);
  });

  test('missing options are refused', () => {
    const none = undefined as unknown as RateLimiterOptions;
    expect(() => new RateLimiter(redis, 'calls', none)).toThrow(TypeError);
  });

  test('a client that is closed rejects, and leaves nothing waiting', async () => {
    const client = connect();
    const calls = new RateLimiter(client, 'calls', { ...SLOW, prefix: freshPrefix() });
    await calls.take();
    disconnect(client);
    await expect(calls.take()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await expect(calls.reset()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test('a key of another type is an error of Redis', async () => {
    const prefix = freshPrefix();
    await redis.lpush(keyOf(prefix), 'x');
    await expect(limiter({}, prefix).take()).rejects.toThrow('WRONGTYPE');
    await redis.del(keyOf(prefix));
  });

  test('hostile names are names', async () => {
    const prefix = freshPrefix();
    const names = [
      '}x',
      '{}',
      '{',
      '%',
      '%7D',
      '🔒',
      'a\nb',
      '\0',
      '\ud800',
      ':rate',
      '*',
      'x'.repeat(1_024),
    ];
    const limiters = names.map((name) => new RateLimiter(redis, name, { ...SLOW, prefix }));
    const results = await Promise.all(limiters.map((calls, index) => calls.take(1 + (index % 10))));
    expect(results.map(({ remaining }) => remaining)).toEqual(names.map((_, index) => 9 - (index % 10)));
    expect(await redis.keys(`${prefix}:*`)).toHaveLength(names.length);
  });
});

describe('keys', () => {
  test('one string, which ends with the debt that it holds', async () => {
    const prefix = freshPrefix();
    const calls = limiter({ limit: 7, periodMs: 10_000 }, prefix);
    await calls.take(3);
    const [key, ...more] = await redis.keys(`${prefix}:*`);
    expect([key, more]).toEqual([keyOf(prefix), []]);
    const [us = 0, parts = 0] = (await redis.get(key!))!.split(/[: ]/).map(Number);
    // Three intervals of 10,000,000 / 7 µs are 4,285,714 µs and two parts of seven.
    expect(parts).toBe(2);
    expect(await redis.type(key!)).toBe('string');
    expect(await redis.pexpiretime(key!)).toBe(Math.floor(us / 1_000) + 1);
    expect(await redis.pttl(key!)).toBeLessThanOrEqual(4_287);
    expect(await redis.memory('USAGE', key!)).toBeLessThan(200);
  });
});
