import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { CountDownLatch } from '@mortise/locks';
import type { CountDownLatchOptions, CountDownOptions } from '@mortise/locks';
import { connect, disconnect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../../src/scripts.gen.js';

const redis = connect();
const other = connect();

function latch(count: number, prefix = freshPrefix(), client: Redis = redis): CountDownLatch {
  return new CountDownLatch(client, 'import', { count, prefix });
}

const keyOf = (prefix: string, part = 'latch'): string => `${prefix}:locks:{import}:${part}`;

/** Resolves when so many connections wait. */
function waiting(prefix: string, connections: number): Promise<boolean> {
  const channel = keyOf(prefix, 'latch-updates');
  return until(`${connections} waiting connections`, async () => {
    const [, subscribers] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
    return subscribers === connections && (await redis.exists(keyOf(prefix))) === 1;
  });
}

describe('countDown', () => {
  test('counts to 0 and no further', async () => {
    const gate = latch(3);
    expect(await gate.remaining()).toBe(3);
    const remaining: number[] = [];
    for (let index = 0; index < 5; index += 1) remaining.push(await gate.countDown());
    expect(remaining).toEqual([2, 1, 0, 0, 0]);
    expect(await gate.remaining()).toBe(0);
  });

  test('counts by more than one, at most to 0', async () => {
    const gate = latch(10);
    expect(await gate.countDown({ by: 7 })).toBe(3);
    expect(await gate.countDown({ by: 10 })).toBe(0);
  });

  test('an id counts once, in one tick, later and from another process', async () => {
    const prefix = freshPrefix();
    const gate = latch(3, prefix);
    const twice = [gate.countDown({ id: 'a' }), gate.countDown({ id: 'a' }), gate.countDown({ id: 'b' })];
    expect(await Promise.all(twice)).toEqual([2, 2, 1]);
    expect(await latch(3, prefix, other).countDown({ id: 'a', by: 3 })).toBe(1);
    expect(await gate.countDown({ id: 'c' })).toBe(0);
    expect(await gate.countDown({ id: 'c' })).toBe(0);
  });

  test('without an id each call counts', async () => {
    const prefix = freshPrefix();
    const gates = [latch(1_000, prefix), latch(1_000, prefix), latch(1_000, prefix, other)];
    const remaining = await Promise.all(
      gates.flatMap((gate) => Array.from({ length: 300 }, () => gate.countDown())),
    );
    expect(new Set(remaining).size).toBe(900);
    expect(await gates[0]!.remaining()).toBe(100);
  });

  test('another count is refused, and counts nothing', async () => {
    const prefix = freshPrefix();
    await latch(3, prefix).countDown();
    const wrong = latch(4, prefix);
    const refusal = { code: 'ERR_LATCH_COUNT', lockName: 'import', value: 4, knownValue: 3 };
    await expect(wrong.countDown()).rejects.toMatchObject(refusal);
    await expect(wrong.wait()).rejects.toMatchObject(refusal);
    await expect(wrong.remaining()).rejects.toMatchObject(refusal);
    await expect(wrong.countDown()).rejects.toThrow('latch "import" has the count 3, not 4');
    expect(await latch(3, prefix).remaining()).toBe(2);
    // Both in one tick: the one that is right is not refused.
    const both = await Promise.allSettled([latch(3, prefix).countDown(), wrong.countDown()]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('wait', () => {
  test('all who wait go on when the last count-down has come, and nobody before', async () => {
    const prefix = freshPrefix();
    let open = 0;
    const waits = [redis, other].flatMap((client) =>
      Array.from({ length: 20 }, async () => {
        await latch(2, prefix, client).wait();
        open += 1;
      }),
    );
    await waiting(prefix, 2);
    await latch(2, prefix).countDown();
    await redis.ping();
    expect(open).toBe(0);
    await latch(2, prefix, other).countDown();
    await Promise.all(waits);
    expect(open).toBe(40);
  });

  test('an open latch lets everybody through at once', async () => {
    const prefix = freshPrefix();
    await latch(1, prefix).countDown();
    await latch(1, prefix).wait();
    await latch(1, prefix, other).wait({ waitMs: 5_000 });
    expect(await latch(1, prefix).remaining()).toBe(0);
  });

  test('a latch that opens in the same tick is not missed', async () => {
    for (let round = 0; round < 30; round += 1) {
      const prefix = freshPrefix();
      const gates = [latch(2, prefix), latch(2, prefix, other)] as const;
      const waits = gates.map((gate) => gate.wait({ waitMs: 5_000 }));
      await Promise.all(gates.map((gate) => gate.countDown()));
      await Promise.all([...waits, gates[0].wait({ waitMs: 5_000 })]);
    }
    expect(await redis.ping()).toBe('PONG');
  });

  test('ends after waitMs with a timeout, and the latch is none the worse', async () => {
    const prefix = freshPrefix();
    const gate = latch(1, prefix);
    const patient = gate.wait();
    const error = await gate.wait({ waitMs: 30 }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_LATCH_TIMEOUT', latchName: 'import', waitMs: 30 });
    expect(String(error)).toMatch(/^LatchTimeoutError: latch "import" did not open within 30 ms \(see /);
    await gate.countDown();
    await patient;
    await gate.wait();
  });

  test('ends with the reason of an aborted signal, also for many on one signal', async () => {
    const prefix = freshPrefix();
    const controller = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on('warning', onWarning);
    const waits = Array.from({ length: 20 }, () => latch(1, prefix).wait({ signal: controller.signal }));
    const stays = latch(1, prefix).wait();
    await waiting(prefix, 1);
    controller.abort(new Error('enough'));
    const results = await Promise.allSettled(waits);
    for (const result of results) expect(result).toMatchObject({ reason: new Error('enough') });
    await expect(latch(1, prefix).wait({ signal: controller.signal })).rejects.toThrow('enough');
    await latch(1, prefix).countDown();
    await stays;
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('keeps nothing of a wait that is over, while others go on', async () => {
    const prefix = freshPrefix();
    const gate = latch(1, prefix);
    const stays = gate.wait();
    await waiting(prefix, 1);
    const [aborted, timedOut, open] = [new AbortController(), new AbortController(), new AbortController()];
    const listeners = (): number[] =>
      [aborted, timedOut, open].map(({ signal }) => getEventListeners(signal, 'abort').length);
    const waits = [
      gate.wait({ signal: aborted.signal }),
      gate.wait({ signal: timedOut.signal, waitMs: 1 }),
      gate.wait({ signal: open.signal }),
    ];
    expect(listeners()).toEqual([1, 1, 1]);
    aborted.abort(new Error('enough'));
    await expect(waits[0]).rejects.toThrow('enough');
    await expect(waits[1]).rejects.toMatchObject({ code: 'ERR_LATCH_TIMEOUT' });
    expect(listeners()).toEqual([0, 0, 1]);
    await gate.countDown();
    await Promise.all([stays, waits[2]]);
    expect(listeners()).toEqual([0, 0, 0]);
  });

  test('a lost message costs a second', async () => {
    const prefix = freshPrefix();
    const wait = latch(1, prefix).wait();
    await waiting(prefix, 1);
    // The state that the script leaves, without its message.
    await redis.hset(keyOf(prefix), 'remaining', 0);
    await wait;
    expect(await latch(1, prefix).remaining()).toBe(0);
  });

  test('messages that are none of this latch wake nobody', async () => {
    const prefix = freshPrefix();
    const wait = latch(1, prefix).wait();
    await waiting(prefix, 1);
    let isOpen = false;
    void wait.then(() => (isOpen = true));
    for (const message of ['*:', '*:1', 'x', '', 'line-1:1', '*:*']) {
      await other.publish(keyOf(prefix, 'latch-updates'), message);
    }
    await redis.ping();
    expect(isOpen).toBe(false);
    await latch(1, prefix).countDown();
    await wait;
  });
});

describe('reset', () => {
  test('begins anew, also with another count, and tells those who wait', async () => {
    const prefix = freshPrefix();
    const waits = [latch(2, prefix).wait(), latch(2, prefix, other).wait()];
    const ends = Promise.allSettled(waits);
    await waiting(prefix, 2);
    await latch(2, prefix).countDown({ id: 'a' });
    expect(await latch(5, prefix).reset()).toBe(true);
    expect(await latch(5, prefix).reset()).toBe(false);
    for (const end of await ends) {
      expect(end).toMatchObject({ reason: { code: 'ERR_LATCH_LOST', latchName: 'import' } });
    }
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
    expect(await latch(3, prefix).countDown({ id: 'a' })).toBe(2);
  });

  test('a later waiter waits for the new latch', async () => {
    const prefix = freshPrefix();
    const gate = latch(2, prefix);
    for (let round = 0; round < 10; round += 1) {
      const before = gate.wait();
      await gate.countDown();
      const lost = before.catch((error: unknown) => error);
      await gate.reset();
      const after = gate.wait();
      expect(await lost).toMatchObject({ code: 'ERR_LATCH_LOST' });
      await gate.countDown({ by: 2 });
      await after;
      await gate.reset();
    }
    expect(await gate.remaining()).toBe(2);
  });

  test('a latch that is gone is noticed, and those who waited do not make it again', async () => {
    const prefix = freshPrefix();
    const wait = latch(2, prefix).wait();
    await waiting(prefix, 1);
    await redis.del(keyOf(prefix));
    await expect(wait).rejects.toMatchObject({ code: 'ERR_LATCH_LOST' });
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('a latch that began anew unheard is noticed', async () => {
    const prefix = freshPrefix();
    const wait = latch(2, prefix).wait();
    await waiting(prefix, 1);
    await redis.del(keyOf(prefix));
    await latch(2, prefix, other).countDown();
    await expect(wait).rejects.toMatchObject({ code: 'ERR_LATCH_LOST' });
  });
});

describe('misuse', () => {
  const numbers = [0, -1, 1.5, Number.NaN, Infinity, -Infinity, 1_000_001, 2 ** 53];

  test.each(numbers)('count %p is refused', (count) => {
    expect(() => latch(count)).toThrow(
      new RangeError(`count must be a whole number from 1 to 1000000, got ${count}`),
    );
  });

  test.each([0, -1, 9_999, 10_000.5, Number.NaN, Infinity, 2_678_400_001])(
    'keepMs %p is refused',
    (keepMs) => {
      expect(() => new CountDownLatch(redis, 'import', { count: 1, keepMs })).toThrow(RangeError);
    },
  );

  test.each([0, -1, 4, 0.5, Number.NaN, Infinity])('by %p of 3 is refused', async (by) => {
    await expect(latch(3).countDown({ by })).rejects.toThrow(
      new RangeError(`by must be a whole number from 1 to 3, got ${by}`),
    );
  });

  test.each([{ id: 7 }, { id: null }, { by: '1' }, { by: null }])(
    'an option of countDown of another type is refused: %p',
    async (options) => {
      await expect(latch(1).countDown(options as unknown as CountDownOptions)).rejects.toThrow(TypeError);
    },
  );

  test('missing options, and ids that are empty or too long, are refused', async () => {
    const none = undefined as unknown as CountDownLatchOptions;
    expect(() => new CountDownLatch(redis, 'import', none)).toThrow(TypeError);
    expect(() => new CountDownLatch(redis, 'import', {} as CountDownLatchOptions)).toThrow(TypeError);
    await expect(latch(1).countDown({ id: '' })).rejects.toThrow(RangeError);
    await expect(latch(1).countDown({ id: 'x'.repeat(1_025) })).rejects.toThrow(RangeError);
  });

  test('hostile names and ids are names and ids', async () => {
    const prefix = freshPrefix();
    const names = ['}x', '{}', '{', '%', '%7D', '🔒', 'a\nb', '\0', '\ud800', '*', 'x'.repeat(1_024)];
    const remaining = await Promise.all(
      names.map(async (name) => {
        const gate = new CountDownLatch(redis, name, { count: 2, prefix });
        const wait = gate.wait();
        await gate.countDown({ id: name });
        const left = await gate.countDown({ id: name });
        await gate.countDown({ id: `${name}2`.slice(-1_000) });
        await wait;
        return left;
      }),
    );
    expect(remaining).toEqual(names.map(() => 1));
    expect(await redis.keys(`${prefix}:*`)).toHaveLength(names.length);
  });

  test('a client that is closed ends every wait and every call', async () => {
    const client = connect();
    const prefix = freshPrefix();
    const waits = Promise.allSettled([latch(1, prefix, client).wait(), latch(1, prefix, client).wait()]);
    await waiting(prefix, 1);
    disconnect(client);
    for (const wait of await waits) expect(wait).toMatchObject({ reason: { code: 'ERR_CLIENT_CLOSED' } });
    const gate = latch(1, prefix, client);
    await expect(gate.wait()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await expect(gate.countDown()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await expect(gate.remaining()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await expect(gate.reset()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test('a key of another type is an error of Redis, for those who wait as well', async () => {
    const prefix = freshPrefix();
    await redis.set(keyOf(prefix), 'x');
    await expect(latch(1, prefix).countDown()).rejects.toThrow('WRONGTYPE');
    await expect(latch(1, prefix).wait()).rejects.toThrow('WRONGTYPE');
    await redis.del(keyOf(prefix));
  });
});

describe('keys', () => {
  async function ttlsOf(prefix: string): Promise<Record<string, number>> {
    const keys = (await redis.keys(`${prefix}:*`)).toSorted();
    const entries = keys.map(
      async (key) => [key.slice(keyOf(prefix, '').length), await redis.pttl(key)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }

  test('all expire keepMs after the last count-down; ids go when the latch opens', async () => {
    const prefix = freshPrefix();
    const gate = new CountDownLatch(redis, 'import', { count: 3, keepMs: 60_000, prefix });
    await gate.countDown({ id: 'a' });
    await redis.pexpire(keyOf(prefix), 20_000);
    await redis.pexpire(keyOf(prefix, 'latch-ids'), 20_000);
    await gate.countDown({ id: 'a' });
    const ttls = await ttlsOf(prefix);
    expect(Object.keys(ttls)).toEqual(['latch', 'latch-ids']);
    for (const ttl of Object.values(ttls)) {
      expect(ttl).toBeGreaterThan(50_000);
      expect(ttl).toBeLessThanOrEqual(60_000);
    }
    expect(await redis.type(keyOf(prefix))).toBe('hash');
    expect(await redis.type(keyOf(prefix, 'latch-ids'))).toBe('set');
    await gate.countDown({ by: 3 });
    expect(Object.keys(await ttlsOf(prefix))).toEqual(['latch']);
    // From now on it only ends.
    await redis.pexpire(keyOf(prefix), 20_000);
    await gate.countDown({ id: 'z' });
    await gate.wait();
    expect(await gate.remaining()).toBe(0);
    const { latch: left, ...more } = await ttlsOf(prefix);
    expect(left).toBeLessThanOrEqual(20_000);
    expect(more).toEqual({});
  });

  test('a latch does not end under those who wait', async () => {
    const prefix = freshPrefix();
    const gate = new CountDownLatch(redis, 'import', { count: 2, keepMs: 10_000, prefix });
    await gate.countDown({ id: 'a' });
    const wait = gate.wait();
    await waiting(prefix, 1);
    await redis.pexpire(keyOf(prefix), 5_000);
    await redis.pexpire(keyOf(prefix, 'latch-ids'), 5_000);
    await until('the next look', async () => (await redis.pttl(keyOf(prefix))) > 5_000);
    expect(await redis.pttl(keyOf(prefix, 'latch-ids'))).toBeGreaterThan(5_000);
    await gate.countDown({ id: 'b' });
    await wait;
  });

  test('looking leaves nothing behind; ids of a latch that was evicted do not count', async () => {
    const prefix = freshPrefix();
    expect(await latch(2, prefix).remaining()).toBe(2);
    expect(await latch(2, prefix).reset()).toBe(false);
    expect(await ttlsOf(prefix)).toEqual({});
    await latch(2, prefix).countDown({ id: 'a' });
    await redis.del(keyOf(prefix));
    expect(await latch(2, prefix).countDown({ id: 'a' })).toBe(1);
  });
});

test('any number of waits in a process is one subscription and one look, then a look a second', async () => {
  const prefix = freshPrefix();
  const client = connect();
  // The server knows the script, and the client has asked which protocol it speaks.
  const known = freshPrefix();
  const first = latch(1, known, client).wait();
  await waiting(known, 1);
  await latch(1, known).countDown();
  await first;
  const waits: Promise<void>[] = [];
  const startedAt = performance.now();
  const lines = await transcript(client, { prefix, scripts }, async () => {
    for (let index = 0; index < 20; index += 1) waits.push(latch(1, prefix, client).wait());
    await waiting(prefix, 1);
    waits.push(latch(1, prefix, client).wait());
    await redis.pexpire(keyOf(prefix), 20_000);
    await until('the next look', async () => (await redis.pttl(keyOf(prefix))) > 20_000);
  });
  const look = 'evalsha count-down-latch.watch latch latch-ids';
  const short = lines.map((line) => line.replaceAll(/locks:\{[^}]*\}:/g, ''));
  const [subscription, ...looks] = short.filter((line) => /^(evalsha|subscribe)/.test(line));
  expect(subscription).toBe('subscribe latch-updates');
  expect(new Set(looks)).toEqual(new Set([look]));
  expect(looks.length).toBeGreaterThanOrEqual(2);
  expect(looks.length).toBeLessThanOrEqual(2 + Math.floor((performance.now() - startedAt) / 2_000));
  expect(short.slice(short.lastIndexOf(look), short.lastIndexOf(look) + 4)).toEqual([
    look,
    '  hmget latch',
    '  pexpire latch',
    '  pexpire latch-ids',
  ]);
  await latch(1, prefix).countDown();
  await Promise.all(waits);
});
