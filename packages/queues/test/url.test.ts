/** The URL of a node in place of a client. */
import { expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { redis } from './fixture/new-queue.js';
import { until } from './fixture/until.js';

const url = process.env['MORTISE_TEST_REDIS']!;

test('a queue and a worker of their own: tasks run, results arrive, and the ends close all connections', async () => {
  const prefix = freshPrefix();
  const connections = async (): Promise<number> =>
    ((await redis.client('LIST')) as string).split('\n').filter(Boolean).length;
  const before = await connections();
  const queue = new Queue<{ add: { payload: number; result: number } }>(url, 'q', { prefix });
  const worker = new Worker<{ add: { payload: number; result: number } }>(
    url,
    ['q'],
    { add: (payload) => payload + 1 },
    { prefix },
  );
  await worker.start();
  const { id } = await queue.enqueue('add', 1);
  expect(await queue.result(id)).toBe(2);
  await worker.stop();
  await worker.start();
  expect(await connections()).toBeGreaterThan(before);
  const again = await queue.enqueue('add', 2);
  expect(await queue.result(again.id)).toBe(3);
  await worker.stop();
  await queue.close();
  await expect(queue.counts()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  await until(async () => (await connections()) <= before);
});

test('a call that was made before close is done, also the first one', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(url, 'q', { prefix });
  const enqueued = queue.enqueue('t', 1);
  await queue.close();
  expect(await new Queue(redis, 'q', { prefix }).get((await enqueued).id)).toMatchObject({ state: 'ready' });
});

test('await using closes it', async () => {
  let ended: Queue;
  {
    await using queue = new Queue(url, 'q', { prefix: freshPrefix() });
    expect(await queue.counts()).toMatchObject({ ready: 0 });
    ended = queue;
  }
  await expect(ended.counts()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});

test('close ends pending waits', async () => {
  const queue = new Queue(url, 'q', { prefix: freshPrefix() });
  const { id } = await queue.enqueue('t', 1);
  const waits = [queue.result(id), queue.idle()].map((wait) => wait.catch((error: Error) => error));
  await until(async () => (await queue.settings()).hasOptional);
  await queue.close();
  for (const error of await Promise.all(waits)) expect(error).toBeInstanceOf(Error);
});

test('close leaves a given client alone', async () => {
  const queue = new Queue(redis, 'q', { prefix: freshPrefix() });
  await queue.close();
  expect(await queue.counts()).toMatchObject({ ready: 0 });
});

test('a URL that cannot be one', () => {
  expect(() => new Queue('localhost', 'q')).toThrow('redis must be a client, or a URL such as redis://');
  expect(() => new Worker('mail', ['q'], { t: () => 1 })).toThrow(TypeError);
});
