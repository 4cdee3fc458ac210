import { describe, expect, test } from '@jest/globals';
import type { InvalidPayloadError, StandardSchemaV1, TaskContext } from '@mortise/queues';
import { Queue, Worker } from '@mortise/queues';
import { freshPrefix, until } from '@mortise/test-kit';
import { z } from 'zod';
import { launch } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';

const Sale = z.object({
  itemId: z.string(),
  price: z.number().int().default(1),
  at: z.iso.datetime().transform((text) => new Date(text)),
});
const sale = { itemId: '42', at: '2026-11-20T12:00:00Z' };
const schemas = { 'mail.sold': Sale };

/** Written by hand: asynchronous, and answers in the order that the test wants. */
function later(validate: (value: unknown) => Promise<boolean>): StandardSchemaV1<number> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) =>
        (await validate(value)) ? { value: value as number } : { issues: [{ message: 'not that' }] },
    },
  };
}

async function refusal(promise: Promise<unknown>): Promise<InvalidPayloadError> {
  const [result] = await Promise.allSettled([promise]);
  return (result as PromiseRejectedResult).reason as InvalidPayloadError;
}

describe('enqueue', () => {
  test("refuses a payload that doesn't fit, and stores nothing", async () => {
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'mail', { prefix, schemas });
    const error = await refusal(queue.enqueue('mail.sold', { ...sale, price: 'free' as never, at: 'now' }));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_PAYLOAD',
      taskName: 'mail.sold',
      taskId: undefined,
      issues: [
        { path: ['price'], message: expect.stringContaining('expected number') },
        { path: ['at'], message: expect.stringContaining('datetime') },
      ],
    });
    expect(error.message).toMatch(
      /^the payload of task "mail.sold" does not fit its schema: price: .* \(and 1 more\) \(see /,
    );
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('stores the given payload, not the output of the schema', async () => {
    const queue = new Queue(redis, 'mail', { prefix: freshPrefix(), schemas });
    const { id } = await queue.enqueue('mail.sold', sale);
    expect((await queue.get(id))?.payload).toEqual(sale);
  });

  test('checks the payload as the worker will see it, after JSON', async () => {
    const dates = { t: z.object({ at: z.date() }) };
    const { queue } = newQueue({ schemas: dates });
    const error = await refusal(queue.enqueue('t', { at: new Date() }));
    expect(error.issues).toMatchObject([{ path: ['at'] }]);
  });

  test('a name without a schema takes everything; one that is undefined is none', async () => {
    const some = { t: z.string(), u: undefined };
    const queue = new Queue<Record<string, unknown>>(redis, 'q', {
      prefix: freshPrefix(),
      schemas: some,
    });
    await queue.enqueue('u', { any: 1 });
    await queue.enqueue('v', { any: 1 });
    await expect(queue.enqueue('t', { any: 1 })).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
    expect(await queue.counts()).toMatchObject({ ready: 2 });
  });

  test('waits for an asynchronous schema, and rejects with its error', async () => {
    const asynchronous = {
      t: later(async (value) => value === 1),
      u: later(() => Promise.reject(new Error('no database'))),
      v: z.string().transform(() => {
        throw new Error('a defect');
      }),
    };
    const queue = new Queue<Record<string, unknown>>(redis, 'q', {
      prefix: freshPrefix(),
      schemas: asynchronous,
    });
    expect(await refusal(queue.enqueue('t', 2))).toMatchObject({
      issues: [{ path: [], message: 'not that' }],
    });
    await expect(queue.enqueue('u', 1)).rejects.toThrow('no database');
    await expect(queue.enqueue('v', '')).rejects.toThrow('a defect');
    expect(await queue.counts()).toMatchObject({ ready: 0 });
    await queue.enqueue('t', 1);
    expect(await queue.counts()).toMatchObject({ ready: 1 });
  });

  test('a synchronous schema keeps the order of calls', async () => {
    const { queue, work } = newQueue({ schemas: { t: z.number() } });
    const names = ['t', 'u'] as const;
    await Promise.all(Array.from({ length: 200 }, (_, index) => queue.enqueue(names[index % 2]!, index)));
    const seen: number[] = [];
    await work(
      { t: (payload) => void seen.push(payload), u: (payload) => void seen.push(payload) },
      { concurrency: 1 },
    );
    await until('all tasks', () => seen.length === 200);
    expect(seen).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });
});

describe('enqueueMany', () => {
  test.each([
    ['synchronous', z.number()],
    ['asynchronous', later(async (value) => typeof value === 'number')],
  ])('stores nothing when one payload does not fit a schema that is %s', async (_how, schema) => {
    const { queue } = newQueue({ schemas: { t: schema } });
    const tasks = Array.from({ length: 100 }, (_, index) => ({
      name: 't' as const,
      payload: index as unknown,
    }));
    await expect(queue.enqueueMany([...tasks, { name: 't', payload: 'x' }])).rejects.toMatchObject({
      code: 'ERR_INVALID_PAYLOAD',
    });
    expect(await queue.counts()).toMatchObject({ ready: 0 });
    await queue.enqueueMany(tasks);
    expect(await queue.counts()).toMatchObject({ ready: 100 });
  });
});

describe('enqueueFlow', () => {
  test('checks the tasks of its own queue', async () => {
    const queue = new Queue<{ t: unknown; u: unknown }>(redis, 'q', {
      prefix: freshPrefix(),
      schemas: { t: z.number(), u: later(async (value) => value === 1) },
    });
    const fine = { name: 'u', payload: 1 } as const;
    for (const wrong of [{ name: 't', payload: 'x' } as const, { name: 'u', payload: 2 } as const]) {
      for (const flow of [
        { ...wrong, children: [fine] },
        { ...fine, children: [wrong] },
      ]) {
        await expect(queue.enqueueFlow(flow)).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
      }
    }
    expect(await queue.counts()).toMatchObject({ ready: 0, waiting: 0 });
    await queue.enqueueFlow({ ...fine, children: [fine] });
    expect(await queue.counts()).toMatchObject({ ready: 1, waiting: 1 });
  });
});

describe('schedule', () => {
  test('checks the payload of its tasks', async () => {
    const queue = new Queue(redis, 'q', {
      prefix: freshPrefix(),
      schemas: { t: z.number(), u: later(async (value) => value === 1) },
    });
    await expect(queue.schedule('s', { everyMs: 60_000 }, 't', 'x' as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_PAYLOAD',
    });
    await expect(queue.schedule('s', { everyMs: 60_000 }, 'u', 2)).rejects.toMatchObject({
      code: 'ERR_INVALID_PAYLOAD',
    });
    expect(await queue.schedules()).toEqual([]);
  });
});

describe('a worker', () => {
  test('passes the output of the schema to the handler, for tasks of any producer', async () => {
    const prefix = freshPrefix();
    const seen: z.output<typeof Sale>[] = [];
    await new Queue(redis, 'mail', { prefix }).enqueue('mail.sold', sale);
    await new Queue(redis, 'mail', { prefix, schemas }).enqueue('mail.sold', sale);
    await launch(redis, 'mail', { 'mail.sold': (payload) => void seen.push(payload) }, { prefix, schemas });
    await until('both tasks', () => seen.length === 2);
    const parsed = { itemId: '42', price: 1, at: new Date(sale.at) };
    expect(seen).toEqual([parsed, parsed]);
  });

  test('dead-letters a task whose payload does not fit, and reports it', async () => {
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'mail', { prefix });
    const { id } = await queue.enqueue('mail.sold', { itemId: 42 }, { attempts: 5 });
    const errors: unknown[] = [];
    let calls = 0;
    await launch(
      redis,
      'mail',
      { 'mail.sold': () => (calls += 1) },
      {
        prefix,
        schemas,
        onError: (error) => void errors.push(error),
      },
    );
    const task = await until('the end', async () => {
      const found = await queue.get(id);
      return found?.state === 'dead' && found;
    });
    expect(task).toMatchObject({
      attempt: 1,
      error: { message: expect.stringContaining('does not fit its schema: itemId') },
    });
    expect(calls).toBe(0);
    expect(errors).toMatchObject([
      { code: 'ERR_INVALID_PAYLOAD', taskId: id, issues: [{ path: ['itemId'] }, { path: ['at'] }] },
    ]);
  });

  test('of a batch, only tasks that do not fit are dead-lettered', async () => {
    const { queue, work } = newQueue();
    await queue.enqueueMany([1, 'x', 3].map((payload) => ({ name: 't', payload })));
    const batches: unknown[][] = [];
    const handleMany = (tasks: readonly { payload: unknown }[]): void =>
      void batches.push(tasks.map(({ payload }) => payload));
    await work({ t: { handleMany, maxSize: 10 } }, { schemas: { t: z.number() }, onError: () => undefined });
    await until('the end', async () => (await queue.counts()).succeeded === 2);
    expect(batches).toEqual([[1, 3]]);
    expect(await queue.counts()).toMatchObject({ dead: 1, succeeded: 2 });
  });

  test("retries when a schema throws, and when a handler enqueues a payload that doesn't fit", async () => {
    const { prefix, queue, work } = newQueue();
    const checked = new Queue(redis, 'q', { prefix, schemas: { u: z.string() } });
    const seen: string[] = [];
    let failures = 1;
    const flaky = later(async () => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('no database');
      }
      return true;
    });
    const backoff = { type: 'fixed', delayMs: 1 } as const;
    await work(
      {
        t: () => void seen.push('t'),
        v: async (_: unknown, { attempt }: TaskContext) => {
          if (attempt === 1) await checked.enqueue('u', 1 as never);
          seen.push('v');
        },
      },
      { backoff, schemas: { t: flaky } },
    );
    await queue.enqueueMany(['t', 'v'].map((name) => ({ name, payload: null })));
    await until('both tasks', () => seen.length === 2);
    expect(seen.toSorted()).toEqual(['t', 'v']);
  });
});

test('an object that is no Standard Schema is refused at construction', () => {
  const wrong = { t: { parse: () => undefined } } as never;
  expect(() => new Queue(redis, 'q', { schemas: wrong })).toThrow(
    new TypeError('the schema of "t" must be a Standard Schema'),
  );
  expect(() => new Worker(redis, ['q'], { t: () => 1 }, { schemas: wrong })).toThrow(TypeError);
});
