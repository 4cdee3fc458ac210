import { expect, test } from '@jest/globals';
import { runningWorkers, Worker } from '@mortise/queues';
import { freshPrefix, until } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

const newWorker = (prefix: string, queues: readonly string[]): Worker =>
  new Worker(redis, queues, { t: () => 1 }, { prefix });

test('a worker counts once from its start to its stop, whatever queues it has', async () => {
  const prefix = freshPrefix();
  const workers = [newWorker(prefix, ['a', 'b', 'c']), newWorker(prefix, ['a'])];
  expect(await runningWorkers(redis, { prefix })).toBe(0);
  for (const worker of workers) await worker.start();
  await until('both', async () => (await runningWorkers(redis, { prefix })) === 2);
  await workers[0]!.stop();
  expect(await runningWorkers(redis, { prefix })).toBe(1);
  await workers[0]!.start();
  await until('both again', async () => (await runningWorkers(redis, { prefix })) === 2);
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(await runningWorkers(redis, { prefix })).toBe(0);
});

test('one that died counts no longer than its registration', async () => {
  const prefix = freshPrefix();
  await using worker = newWorker(prefix, ['a']);
  await worker.start();
  await until('its registration', async () => (await runningWorkers(redis, { prefix })) === 1);
  const [workersOf] = await redis.keys(`${prefix}:queues:*:workers`);
  const lastsMs = await redis.pttl(workersOf!);
  expect(lastsMs > 100_000 && lastsMs <= 150_000).toBe(true);
  // As if the last minutes had passed.
  await redis.zadd(workersOf!, 1, 'one that died');
  expect(await runningWorkers(redis, { prefix })).toBe(1);
});
