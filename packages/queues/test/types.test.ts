import { expect, test } from '@jest/globals';
import { Queue, RetryLater, Worker } from '@mortise/queues';
import type {
  BatchHandler,
  Counts,
  Enqueued,
  Handlers,
  NewTask,
  Task,
  TaskContext,
  WorkerOptions,
} from '@mortise/queues';
import { Cluster } from 'ioredis';
import { connect, freshPrefix } from '@mortise/test-kit';
import { launch } from './fixture/launch.js';
import { until } from './fixture/until.js';

// An interface on purpose: it has no index signature and fits all the same.
interface Mail {
  'mail.sold': { itemId: string; price: number };
  'mail.expired': { itemId: string };
}

const redis = connect();

test('payloads belong to the names of tasks', async () => {
  const prefix = freshPrefix();
  const queue = new Queue<Mail>(redis, 'mail', { prefix });
  const sold: Enqueued = await queue.enqueue('mail.sold', { itemId: '42', price: 97 }, { priority: 'high' });
  const many: Enqueued[] = await queue.enqueueMany([
    { name: 'mail.expired', payload: { itemId: '43' } },
    { name: 'mail.sold', payload: { itemId: '44', price: 1 }, options: { delayMs: 60_000 } },
  ]);
  // @ts-expect-error -- no such task
  await queue.enqueue('mail.lost', { itemId: '42' });
  // @ts-expect-error -- the payload of another task
  await queue.enqueue('mail.sold', { itemId: '42' });
  // @ts-expect-error -- the payload of another task
  const wrong: NewTask<Mail> = { name: 'mail.sold', payload: { itemId: '42' } };
  // @ts-expect-error -- a header is a string
  await expect(queue.enqueue('mail.expired', { itemId: '' }, { headers: { n: 1 } })).rejects.toThrow(
    TypeError,
  );

  const task: Task<Mail> | null = await queue.get(sold.id);
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const price: number = task.payload.price;
  const counts: Counts = await queue.counts();
  expect([price, many.length, wrong.name, counts.ready]).toEqual([97, 2, 'mail.sold', 4]);
});

test('handlers know their payloads, and a worker needs one for each name', async () => {
  const prefix = freshPrefix();
  const prices: number[] = [];
  const handlers: Handlers<Mail> = {
    'mail.sold': ({ price }, context: TaskContext) => {
      prices.push(price);
      return context.id;
    },
    'mail.expired': async () => {
      throw new RetryLater({ delayMs: 60_000 });
    },
  };
  await new Queue<Mail>(redis, 'mail', { prefix }).enqueue('mail.sold', { itemId: '42', price: 97 });
  await launch(redis, 'mail', handlers, { prefix });
  await until(() => prices.length > 0);
  expect(prices).toEqual([97]);

  // @ts-expect-error -- no handler for mail.expired
  const some = new Worker<Mail>(redis, ['mail'], { 'mail.sold': () => undefined });
  const part = new Worker<Pick<Mail, 'mail.sold'>>(redis, ['mail'], { 'mail.sold': () => undefined });
  // @ts-expect-error -- there is no itemID
  const typo: Handlers<Mail>['mail.expired'] = ({ itemID }) => itemID;
  expect([some, part, typo]).toHaveLength(3);
});

test('objects and batch handlers know their payloads, too', async () => {
  const prefix = freshPrefix();
  const seen: number[] = [];
  const handlers: Handlers<Mail> = {
    'mail.sold': {
      maxSize: 10,
      waitMs: 1,
      handleMany: (tasks) => {
        for (const { payload, ctx } of tasks) seen.push(payload.price, ctx.attempt);
        return tasks.map(({ payload }) => payload.itemId);
      },
    },
    'mail.expired': {
      timeoutMs: 1_000,
      concurrency: 2,
      backoff: ({ attempt, error }) => (error instanceof Error ? attempt : 0),
      handle: async ({ itemId }, { progress }) => [itemId, typeof progress],
    },
  };
  await new Queue<Mail>(redis, 'mail', { prefix }).enqueue('mail.sold', { itemId: '42', price: 97 });
  await launch(redis, 'mail', handlers, { prefix, fairness: { mail: 2 }, backoff: () => 5 });
  await until(() => seen.length > 0);
  expect(seen).toEqual([97, 1]);

  const batch: BatchHandler<Mail['mail.sold']> = {
    maxSize: 2,
    // @ts-expect-error -- there is no itemID
    handleMany: (tasks) => tasks.map(({ payload }) => payload.itemID as unknown),
  };
  // @ts-expect-error -- a batch has a size
  const sizeless: Handlers<Mail>['mail.sold'] = { handleMany: () => undefined };
  // @ts-expect-error -- results are an array
  const single: Handlers<Mail>['mail.sold'] = { maxSize: 2, handleMany: () => 'one for all' };
  // @ts-expect-error -- there is no itemID
  const typo: Handlers<Mail>['mail.expired'] = { handle: ({ itemID }) => itemID };
  // @ts-expect-error -- a backoff function doesn't promise its delay
  const promise: WorkerOptions['backoff'] = async () => 5;
  // @ts-expect-error -- there is no such fairness
  const fairness: WorkerOptions['fairness'] = 'fair';
  expect([batch, sizeless, single, typo, promise, fairness]).toHaveLength(6);
});

test('without types, any name and payload fits', async () => {
  const queue = new Queue(redis, 'any', { prefix: freshPrefix() });
  const { isDuplicate } = await queue.enqueue('whatever', [1, { two: null }]);
  // @ts-expect-error -- a name is a string
  await expect(queue.enqueue(42, {})).rejects.toThrow(TypeError);
  expect(isDuplicate).toBe(false);
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Queue(cluster, 'q')).toBeInstanceOf(Queue);
  expect(new Worker(cluster, ['q'], { t: () => 1 })).toBeInstanceOf(Worker);
  cluster.disconnect();
});
