import { afterEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as pause } from 'node:timers/promises';
import { callAfter, callRedis, ClientClosedError, readMany, WaiterHub } from '../../src/index.js';
import { createTestRedis, MemoryRedis, TestServerError } from '../../src/testing/index.js';
import { echo, swap } from '../fixture/scripts.js';

let memory: MemoryRedis | undefined;

function opened(startAt?: number): MemoryRedis {
  memory = new MemoryRedis({ startAt });
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

describe('the client', () => {
  test('runs scripts, reads many, and gives text or bytes', async () => {
    const redis = opened();
    const bytes = Buffer.from([0, 255, 128]);
    expect(await swap.run(redis, { target: 'h' }, { value: 'é', fields: ['a', 'b'] })).toEqual([null, null]);
    expect(await redis.call('hgetall', 'h')).toEqual({ a: 'é', b: 'é' });
    await redis.call('set', 'bytes', bytes);
    expect(await redis.callBuffer('get', 'bytes')).toEqual(bytes);
    expect(
      await readMany(redis, [
        ['hget', 'h', 'a'],
        ['exists', 'h'],
        ['get', 'none'],
      ]),
    ).toEqual(['é', 1, null]);
    const reply = await echo.run(
      redis,
      { first: 'x', second: 'y', moreKeys: [] },
      { third: 1, fourth: 2, moreArgs: [] },
    );
    expect(reply).toEqual(expect.arrayContaining(['x', 'y']));
  });

  test('delivers messages to waiters', async () => {
    const redis = opened();
    const waiter = await WaiterHub.of(redis).waiter('channel', 'me');
    expect(await redis.duplicate().call('publish', 'channel', 'me:hello')).toBe(1);
    expect(await waiter.next()).toEqual({ type: 'message', body: Buffer.from('hello') });
    waiter.close();
  });

  test('rejects what it cannot do, and everything after its end', async () => {
    const redis = opened();
    await expect(redis.call('geoadd', 'k', '1', '1', 'a')).rejects.toMatchObject({
      name: 'ReplyError',
      message: "ERR 'geoadd' is not emulated by the in-memory Redis of Mortise",
    });
    redis.disconnect();
    await expect(callRedis(redis, 'ping', [])).rejects.toBeInstanceOf(ClientClosedError);
  });

  test('shares its keys with clients of other libraries', async () => {
    const redis = new MemoryRedis({ clock: 'system' });
    const other = new Redis(await redis.listen());
    await other.set('a', '1');
    expect(await other.multi().incr('a').get('a').exec()).toEqual([
      [null, 2],
      [null, '2'],
    ]);
    expect(await redis.call('get', 'a')).toBe('2');
    await other.quit();
    await redis.close();
  });
});

describe('the clock', () => {
  test('moves keys, timers, dates and the time of the server together', async () => {
    const redis = opened(Date.UTC(2030, 0, 1));
    const { clock } = redis;
    const fired: string[] = [];
    setTimeout(() => fired.push('2 s'), 2_000);
    callAfter(1_000, () => fired.push('1 s'));
    void pause(1_500).then(() => fired.push('pause'));
    const every = setInterval(() => fired.push('every'), 900);
    await redis.call('set', 'k', 'v', 'PX', 2_000);
    await clock.advance('1s');
    expect(fired).toEqual(['every', '1 s']);
    expect(await redis.call('pttl', 'k')).toBe(1_000);
    await clock.advance(1_000);
    clearInterval(every);
    expect(fired.filter((each) => each !== 'pause')).toEqual(['every', '1 s', 'every', '2 s']);
    expect(await redis.call('exists', 'k')).toBe(0);
    expect(new Date().toISOString()).toBe('2030-01-01T00:00:02.000Z');
    expect((await redis.call('time'))?.toString()).toMatch(/^1893456002,/);
  });

  test('runs what a timer starts to its end before the next timer', async () => {
    const redis = opened();
    const seen: string[] = [];
    const step = async (name: string): Promise<void> => {
      for (let n = 0; n < 5; n += 1) await redis.call('incr', name);
      seen.push(`${name} at ${Date.now() - start}`);
    };
    const start = Date.now();
    setTimeout(() => void step('a'), 100);
    setTimeout(() => void step('b'), 101);
    await redis.clock.advance('1h 30m');
    expect(seen).toEqual(['a at 100', 'b at 101']);
    expect(Date.now() - start).toBe(5_400_000);
  });

  test.each(['', '5', '5 s', '1w', -1, Number.NaN, Infinity])('refuses the duration %p', async (duration) => {
    await expect(opened().clock.advance(duration)).rejects.toThrow(TypeError);
  });

  test('is one at a time, and puts the time of Node back', async () => {
    const { setTimeout: before } = globalThis;
    const redis = opened(0);
    expect(globalThis.setTimeout).not.toBe(before);
    expect(() => new MemoryRedis()).toThrow(/installed already/);
    await redis.close();
    expect(globalThis.setTimeout).toBe(before);
    expect(Date.now()).toBeGreaterThan(Date.UTC(2026, 0));
    expect(new MemoryRedis({ clock: 'system' })).toBeInstanceOf(MemoryRedis);
  });

  test('tells a timer that sets itself again at once', async () => {
    const redis = opened();
    const again = (): void => void setTimeout(again, 0);
    again();
    await expect(redis.clock.settle()).rejects.toThrow(/sets itself again/);
  });
});

describe('createTestRedis', () => {
  test('tells which programs it looked for', async () => {
    const started = createTestRedis({ binary: '/nowhere/redis-server' });
    await expect(started).rejects.toBeInstanceOf(TestServerError);
    await expect(started).rejects.toMatchObject({ code: 'ERR_TEST_SERVER' });
  });
});
