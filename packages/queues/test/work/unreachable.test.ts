import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import { connect, disconnectLater, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Nothing listens at port 1. */
const away = (): Redis => disconnectLater(new Redis({ host: '127.0.0.1', port: 1, disconnectTimeout: 100 }));

function launch(redis: Redis): { worker: Worker; errors: unknown[] } {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const worker = new Worker(redis, ['q'], { t: () => 1 }, { prefix: freshPrefix(), onError });
  return { worker, errors };
}

const UNREACHABLE = { name: 'RedisUnreachableError', code: 'ERR_REDIS_UNREACHABLE' };

test('a worker without a connection reports it after 5 s', async () => {
  const { worker, errors } = launch(away());
  await worker.start();
  await jest.advanceTimersByTimeAsync(4_999);
  expect(errors).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(errors).toEqual([expect.objectContaining(UNREACHABLE)]);
  const stopping = worker.stop();
  await jest.advanceTimersByTimeAsync(2_000);
  await stopping;
});

test('one that is stopped before, or has a connection, does not', async () => {
  const { worker, errors } = launch(away());
  await worker.start();
  const stopping = worker.stop();
  await jest.advanceTimersByTimeAsync(2_000);
  await stopping;
  const redis = connect();
  await redis.ping();
  const connected = launch(redis);
  await connected.worker.start();
  await jest.advanceTimersByTimeAsync(5_000);
  expect([...errors, ...connected.errors]).toEqual([]);
  jest.useRealTimers();
  await connected.worker.stop();
});

test('stop ends 2 s after the grace of what runs, with no connection at once', async () => {
  const { worker } = launch(away());
  await worker.start();
  const ends: string[] = [];
  const stopping = worker.stop().finally(() => ends.push('stopped'));
  await jest.advanceTimersByTimeAsync(1_999);
  expect(ends).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  await stopping;
});

test('stop ends within a second after the client was closed while it reconnected', async () => {
  const redis = away();
  const { worker } = launch(redis);
  await worker.start();
  while (redis.status !== 'reconnecting') await new Promise((resolve) => setImmediate(resolve));
  redis.disconnect();
  const ends: string[] = [];
  void worker.stop().finally(() => ends.push('stopped'));
  // With turns of the event loop in between: node-redis ends its connection attempt first, which is a real one.
  for (let step = 0; step < 100; step += 1) {
    await jest.advanceTimersByTimeAsync(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(ends).toEqual(['stopped']);
});
