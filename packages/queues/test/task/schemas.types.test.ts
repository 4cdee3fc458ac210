import { expect, test } from '@jest/globals';
import type { Handlers, QueueOptions, StandardSchemaV1, WorkerOptions } from '@mortise/queues';
import { Queue, Worker } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { z } from 'zod';

const redis = connect();
const schemas = {
  'mail.sold': z.object({ itemId: z.string(), price: z.number().default(1), at: z.coerce.date<string>() }),
  'mail.expired': z.object({ itemId: z.string() }),
};

test('a queue takes its payload types from the inputs of its schemas', async () => {
  const queue = new Queue(redis, 'mail', { prefix: freshPrefix(), schemas });
  const { id } = await queue.enqueue('mail.sold', { itemId: '1', at: '2026-11-20' });
  await queue.enqueueMany([{ name: 'mail.expired', payload: { itemId: '1' } }]);
  // @ts-expect-error -- no such task
  await queue.enqueue('mail.lost', { itemId: '1' });
  // @ts-expect-error -- an input is a text
  await queue.enqueue('mail.sold', { itemId: '1', at: new Date() });
  // @ts-expect-error -- itemId is a text
  await expect(queue.enqueue('mail.sold', { itemId: 1, at: '' })).rejects.toThrow('itemId');
  const task = await queue.get(id);
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const at: string = task.payload.at;
  expect(at).toBe('2026-11-20');
});

test('a worker takes the payload types of its handlers from the outputs of its schemas', () => {
  const worker = new Worker(
    redis,
    ['mail'],
    {
      'mail.sold': ({ at, price }) => at.getTime() + price,
      'mail.expired': {
        handleMany: (tasks) => tasks.map(({ payload }) => payload.itemId.length),
        maxSize: 10,
      },
    },
    { schemas },
  );
  // It may know schemas of tasks that it doesn't run.
  const some = new Worker(redis, ['mail'], { 'mail.sold': () => undefined }, { schemas });
  const wrong: Handlers<{ 'mail.sold': z.output<(typeof schemas)['mail.sold']> }> = {
    // @ts-expect-error -- there is no seller
    'mail.sold': ({ seller }) => seller,
  };
  expect([worker, some, wrong]).toHaveLength(3);
});

test('schemas fit a map of types that is given', () => {
  interface Mail {
    'mail.sold': { itemId: string; price?: number | undefined; at: string };
    'mail.expired': { itemId: string };
  }
  interface Read {
    'mail.sold': { itemId: string; price: number; at: Date };
    'mail.expired': { itemId: string };
  }
  const some: QueueOptions<Mail> = { schemas: { 'mail.expired': schemas['mail.expired'] } };
  const all: WorkerOptions<Read> = { schemas };
  expect(new Queue<Mail>(redis, 'mail', { ...some, schemas })).toBeInstanceOf(Queue);
  // @ts-expect-error -- another type
  expect(new Queue<Mail>(redis, 'mail', { schemas: { 'mail.sold': z.string() } })).toBeInstanceOf(Queue);
  // @ts-expect-error -- no such task
  expect(new Queue<Mail>(redis, 'mail', { schemas: { 'mail.lost': z.string() } })).toBeInstanceOf(Queue);
  const handlers: Handlers<Read> = { 'mail.sold': ({ at }) => at.getTime(), 'mail.expired': () => undefined };
  expect(new Worker<Read>(redis, ['mail'], handlers, all)).toBeInstanceOf(Worker);
});

test('any library that has Standard Schemas fits', () => {
  const own: StandardSchemaV1<string, number> = {
    '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value: String(value).length }) },
  };
  const queue = new Queue(redis, 'q', { schemas: { t: own } });
  const worker = new Worker(redis, ['q'], { t: (length) => length.toFixed() }, { schemas: { t: own } });
  // @ts-expect-error -- the input is a text
  const wrong = (): Promise<unknown> => queue.enqueue('t', 7);
  expect([worker, wrong]).toHaveLength(2);
});
