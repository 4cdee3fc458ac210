import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { callRedis, callRedisBuffer } from '../src/index.js';
import { MAJORS, connect, connectCluster } from './fixture/clients.js';
import { swap } from './fixture/scripts.js';
import { watchedWrites } from './fixture/writes.js';

const { server } = await runServer();

let target: string;
beforeEach(async () => {
  target = `test:{${randomUUID()}}`;
  if (!server.isAnswering) await server.restart();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A port of which nobody listens. */
const NOWHERE = 'redis://127.0.0.1:1';
/** ioredis keeps commands for ever, and tries to connect once. */
const FOR_EVER = { maxRetriesPerRequest: null, retryStrategy: () => 3_600_000 };

/** Timers and the clock only move when the test says so. */
function stopTime(): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
}

/** Moves the clock, and lets what is due then happen. */
async function elapse(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}

/** The outcomes so far: `pending`, `done` or a code. */
function watched(calls: readonly Promise<unknown>[]): string[] {
  const outcomes = calls.map(() => 'pending');
  for (const [index, call] of calls.entries()) {
    call.then(
      () => (outcomes[index] = 'done'),
      (error: { code?: string; message: string }) => (outcomes[index] = error.code ?? error.message),
    );
  }
  return outcomes;
}

const UNREACHABLE = 'ERR_REDIS_UNREACHABLE';
const CLOSED = 'ERR_CLIENT_CLOSED';

function set(redis: Redis, field: string, value = 'v'): Promise<unknown> {
  return swap.run(redis, { target }, { value, fields: [field] });
}

describe.each(MAJORS)('ioredis %s', (major) => {
  test('a call rejects after 10 s without a connection, however long ioredis would keep it', async () => {
    const redis = connect(major, NOWHERE, FOR_EVER);
    await until('a failed attempt', () => redis.status === 'reconnecting');
    stopTime();
    const outcomes = watched([set(redis, 'a'), callRedis(redis, 'get', [target])]);
    await elapse(4_000);
    const later = watched([callRedisBuffer(redis, 'get', [target])]);
    await elapse(5_999);
    expect([...outcomes, ...later]).toEqual(['pending', 'pending', 'pending']);
    await elapse(1);
    expect([...outcomes, ...later]).toEqual([UNREACHABLE, UNREACHABLE, 'pending']);
    await elapse(4_000);
    expect(later).toEqual([UNREACHABLE]);
  });

  test('a call of a Cluster without nodes, too', async () => {
    const cluster = connectCluster(major, [{ host: '127.0.0.1', port: 1 }]);
    stopTime();
    const outcomes = watched([callRedis(cluster, 'get', [target]), callRedis(cluster, 'get', [target])]);
    for (let second = 0; second < 10; second += 1) await elapse(1_000);
    expect(outcomes).toEqual([UNREACHABLE, UNREACHABLE]);
  });

  test('a call whose reply is outstanding when the connection is lost has 10 s from then', async () => {
    const redis = connect(major, server.url, FOR_EVER);
    await redis.ping();
    server.pause();
    const outcomes = watched([set(redis, 'a'), set(redis, 'b')]);
    stopTime();
    await elapse(60_000);
    await server.kill();
    await until('the loss', () => redis.status === 'reconnecting');
    await elapse(9_999);
    expect(outcomes).toEqual(['pending', 'pending']);
    await elapse(1);
    expect(outcomes).toEqual([UNREACHABLE, UNREACHABLE]);
  });

  test('a connected call sets no timer', async () => {
    const redis = connect(major, server.url, FOR_EVER);
    await redis.ping();
    await set(redis, 'a');
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await Promise.all([set(redis, 'a'), callRedis(redis, 'get', ['none'])]);
    expect(timers.mock.calls).toEqual([]);
    timers.mockRestore();
  });

  test('calls made before the connection are executed once, in their order', async () => {
    const redis = connect(major, server.url);
    const replies = ['1', '2', '3', '4'].map((value) => set(redis, 'f', value));
    expect(await Promise.all(replies)).toEqual([[null], ['1'], ['2'], ['3']]);
  });

  test('calls made during an outage are executed once it ends', async () => {
    const redis = connect(major, server.url, { maxRetriesPerRequest: null });
    await redis.ping();
    await server.kill();
    await until('the loss', () => redis.status !== 'ready');
    const replies = ['1', '2', '3'].map((value) => set(redis, 'f', value));
    redis.once('ready', () => replies.push(set(redis, 'f', '4')));
    await server.restart();
    await until('the last call', () => replies.length === 4);
    expect(await Promise.all(replies)).toEqual([[null], ['1'], ['2'], ['3']]);
  });

  test('of the calls that were given up, only the first is executed later', async () => {
    const redis = connect(major, server.url, FOR_EVER);
    await redis.ping();
    await server.kill();
    await until('the loss', () => redis.status === 'reconnecting');
    stopTime();
    const outcomes = watched([set(redis, 'a'), set(redis, 'b')]);
    await elapse(10_000);
    // The first is still with ioredis.
    outcomes.push(...watched([set(redis, 'c')]));
    await elapse(10_000);
    jest.useRealTimers();
    await server.restart();
    await redis.connect();
    await set(redis, 'd');
    expect((await redis.hkeys(target)).toSorted()).toEqual(['a', 'd']);
    expect(outcomes).toEqual([UNREACHABLE, UNREACHABLE, 'pending']);
  });

  test('a lazy client connects', async () => {
    const redis = connect(major, server.url, { lazyConnect: true });
    expect(await Promise.all([set(redis, 'f', '1'), set(redis, 'f', '2')])).toEqual([[null], ['1']]);
  });

  test('without an offline queue, calls reject at once', async () => {
    const redis = connect(major, NOWHERE, { ...FOR_EVER, enableOfflineQueue: false });
    const calls = [set(redis, 'a'), set(redis, 'b')];
    for (const outcome of await Promise.allSettled(calls)) {
      const cause = { message: "Stream isn't writeable and enableOfflineQueue options is false" };
      expect(outcome).toMatchObject({ reason: { code: UNREACHABLE, cause } });
    }
  });

  test('a commandTimeout holds for every call, and its error stays as it is', async () => {
    const redis = connect(major, NOWHERE, { ...FOR_EVER, commandTimeout: 5 });
    const calls = [set(redis, 'a'), set(redis, 'b')];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ reason: new Error('Command timed out') });
    }
  });

  test('all calls end when ioredis gives up, with its error as cause', async () => {
    const redis = connect(major, NOWHERE, { maxRetriesPerRequest: 1 });
    const calls = [set(redis, 'a'), set(redis, 'b'), callRedis(redis, 'get', ['a'])];
    for (const outcome of await Promise.allSettled(calls)) {
      const cause = { name: 'MaxRetriesPerRequestError' };
      expect(outcome).toMatchObject({ reason: { code: UNREACHABLE, cause } });
    }
  });

  test('all calls end after a disconnect during an outage', async () => {
    const redis = connect(major, NOWHERE, FOR_EVER);
    await until('a failed attempt', () => redis.status === 'reconnecting');
    const calls = [set(redis, 'a'), set(redis, 'b')];
    redis.disconnect();
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ reason: { code: CLOSED } });
    }
    await expect(set(redis, 'c')).rejects.toMatchObject({ code: CLOSED });
  });
});

describe.each(MAJORS)('the socket of ioredis %s', (major) => {
  test('the calls of a tick leave in one write, and later ones in another', async () => {
    const redis = connect(major, server.url);
    await set(redis, 'a');
    const writes = watchedWrites([redis]);
    await Promise.all([set(redis, 'a'), set(redis, 'b'), callRedis(redis, 'get', ['a'])]);
    expect(writes).toEqual([3]);
    await set(redis, 'a');
    expect(writes).toEqual([3, 1]);
    await Promise.all(Array.from({ length: 40 }, () => set(redis, 'a')));
    expect(writes).toEqual([3, 1, 16, 16, 8]);
  });

  test('a script that runs by its text is written before the call returns', async () => {
    const redis = connect(major, server.url);
    await redis.ping();
    const writes = watchedWrites([redis]);
    const ran = swap.runWhole(redis, { target }, { value: 'v', fields: ['a'] });
    expect(writes).toEqual([1]);
    await ran;
  });
});
