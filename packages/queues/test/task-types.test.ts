import { expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import type {
  ClaimedTask,
  Enqueued,
  FlowTask,
  Handlers,
  NewTask,
  PayloadOf,
  ResultOf,
  Task,
  TaskId,
} from '@mortise/queues';
import { sandbox } from '@mortise/queues/sandbox';
import { freshPrefix } from '@mortise/test-kit';
import { z } from 'zod';
import { launch } from './fixture/launch.js';
import { redis } from './fixture/new-queue.js';

interface Orders {
  'order.total': { payload: { orderId: string }; result: number };
  'order.pack': { payload: string; result: { boxes: number } };
  'order.notify': { payload: { orderId: string }; result: void };
  'order.audit': { orderId: string };
}

/** Neither is the longer form. */
interface Others {
  alone: { payload: string };
  more: { payload: string; result: number; note: string };
  // oxlint-disable-next-line typescript/no-explicit-any -- the test is about it
  anything: any;
  unknown: unknown;
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const proven = <_Proof extends true>(): void => undefined;

test('a map gives payloads alone, or payloads and results', () => {
  proven<Same<PayloadOf<Orders, 'order.total'>, { orderId: string }>>();
  proven<Same<ResultOf<Orders, 'order.total'>, number>>();
  proven<Same<PayloadOf<Orders, 'order.audit'>, { orderId: string }>>();
  proven<Same<ResultOf<Orders, 'order.audit'>, unknown>>();
  proven<Same<PayloadOf<Others, 'alone'>, { payload: string }>>();
  proven<Same<PayloadOf<Others, 'more'>, { payload: string; result: number; note: string }>>();
  proven<Same<ResultOf<Others, 'more'>, unknown>>();
  proven<Same<ResultOf<Others, 'anything'>, unknown>>();
  proven<Same<PayloadOf<Others, 'unknown'>, unknown>>();
  // @ts-expect-error -- they are not the same
  proven<Same<PayloadOf<Orders, 'order.total'>, { orderId: number }>>();
  expect(proven()).toBeUndefined();
});

test('the id of an enqueued task gives its result the type', async () => {
  const prefix = freshPrefix();
  const queue = new Queue<Orders>(redis, 'orders', { prefix });
  const handlers: Handlers<Orders> = {
    'order.total': async ({ orderId }) => orderId.length,
    'order.pack': { handle: (order) => ({ boxes: order.length }) },
    'order.notify': async () => undefined,
    'order.audit': () => 'anything',
  };
  await launch(redis, 'orders', handlers as Handlers<Record<string, unknown>>, { prefix });
  const total: Enqueued<number> = await queue.enqueue('order.total', { orderId: '42' });
  const sum: number = await queue.result(total.id);
  const { id } = await queue.enqueue('order.pack', 'abc');
  const { boxes } = await queue.result(id, { waitMs: 5_000 });
  const audit = await queue.enqueue('order.audit', { orderId: '42' });
  const plain: string = audit.id;
  const anything: unknown = await queue.result(audit.id);
  // Stored by another program, for example.
  const stored: string = id;
  const untyped = await queue.result(stored);
  // @ts-expect-error -- the result is not known
  void untyped.boxes;
  const typed = await queue.result<ResultOf<Orders, 'order.pack'>>(stored);
  // @ts-expect-error -- there are no crates
  void typed.crates;
  expect([sum, boxes, plain, anything, untyped, typed]).toEqual([
    2,
    3,
    audit.id,
    'anything',
    { boxes: 3 },
    { boxes: 3 },
  ]);
  const task: Task<Orders> | null = await queue.get(id);
  if (task?.name !== 'order.pack') throw new Error('the name tells the types');
  const shown: number | undefined = task.result?.boxes;
  const payload: string = task.payload;
  expect([shown, payload]).toEqual([3, 'abc']);

  // @ts-expect-error -- a result is a number
  const wrong: string = await queue.result(total.id);
  // @ts-expect-error -- the whole value of the map is no payload
  const refused = queue.enqueue('order.total', { payload: { orderId: '42' }, result: 1 });
  await refused;
  const other: TaskId<{ boxes: number }> = id;
  // @ts-expect-error -- the id of a task with another result
  const misled: TaskId<number> = other;
  expect([wrong, misled]).toEqual([2, id]);
});

test('each id of enqueueMany gives its result the type of its name', async () => {
  const queue = new Queue<Orders>(redis, 'orders', { prefix: freshPrefix() });
  const [total, pack, audit] = await queue.enqueueMany([
    { name: 'order.total', payload: { orderId: '42' } },
    { name: 'order.pack', payload: 'abc', options: { id: 'p' } },
    { name: 'order.audit', payload: { orderId: '42' } },
  ]);
  proven<Same<typeof total, Enqueued<number>>>();
  proven<Same<typeof pack, Enqueued<{ boxes: number }>>>();
  proven<Same<typeof audit, Enqueued>>();
  // @ts-expect-error -- a result is a number
  const wrong: TaskId<string> = total.id;
  const totals = await queue.enqueueMany(
    ['1', '2'].map((orderId) => ({ name: 'order.total', payload: { orderId } }) as const),
  );
  proven<Same<typeof totals, Enqueued<number>[]>>();
  const some: NewTask<Orders>[] = [{ name: 'order.pack', payload: 'abc' }];
  const mixed: Enqueued[] = await queue.enqueueMany(some);
  // @ts-expect-error -- the payload of another task
  await queue.enqueueMany([{ name: 'order.total', payload: 'abc' }]);
  // @ts-expect-error -- no such task
  await queue.enqueueMany([{ name: 'order.lost', payload: 'abc' }]);
  // @ts-expect-error -- no such option
  await queue.enqueueMany([{ name: 'order.pack', payload: 'a', options: { dely: 1 } }]).catch(() => 0);
  expect([pack.id, wrong, totals.length, mixed.length]).toEqual(['p', total.id, 2, 1]);
});

test('payloads with arrays and nested objects fit enqueueMany', async () => {
  interface Lists {
    list: { payload: { items: string[]; at: { x: number }[] }; result: boolean };
    other: string[];
  }
  const queue = new Queue<Lists>(redis, 'lists', { prefix: freshPrefix() });
  const [list] = await queue.enqueueMany([
    { name: 'list', payload: { items: ['a', 'b'], at: [{ x: 1 }] } },
    { name: 'other', payload: ['a'] },
  ]);
  proven<Same<typeof list, Enqueued<boolean>>>();
  expect(list.isDuplicate).toBe(false);
});

test('handlers return the results of the map', () => {
  const right: Handlers<Orders> = {
    'order.total': {
      maxSize: 10,
      handleMany: async (tasks) =>
        tasks.map(({ payload }) => payload.orderId.length || new Error('no order')),
    },
    'order.pack': sandbox(new URL('file:///pack.js')),
    'order.notify': { maxSize: 2, handleMany: () => undefined },
    'order.audit': { maxSize: 2, handleMany: async () => undefined },
  };
  // @ts-expect-error -- a number is to be returned
  const text: Handlers<Orders>['order.total'] = async ({ orderId }) => orderId;
  // @ts-expect-error -- nothing is returned
  const nothing: Handlers<Orders>['order.pack'] = () => undefined;
  // @ts-expect-error -- there is no number for each task
  const many: Handlers<Orders>['order.total'] = { maxSize: 2, handleMany: () => undefined };
  // @ts-expect-error -- there are no crates
  const field: Handlers<Orders>['order.pack'] = { handle: () => ({ crates: 1 }) };
  expect(new Worker<Orders>(redis, ['orders'], right)).toBeInstanceOf(Worker);
  expect([text, nothing, many, field]).toHaveLength(4);
});

test('payloads of the longer form, wherever payloads are given', async () => {
  const queue = new Queue<Orders>(redis, 'orders', {
    prefix: freshPrefix(),
    schemas: { 'order.total': z.object({ orderId: z.string() }) },
  });
  const fresh: NewTask<Orders> = { name: 'order.pack', payload: 'abc' };
  const flow: FlowTask<Orders> = { name: 'order.total', payload: { orderId: '1' }, children: [fresh] };
  await queue.enqueueMany([fresh]);
  await queue.enqueueFlow(flow);
  await queue.schedule('k', { everyMs: 60_000 }, 'order.pack', 'abc');
  // @ts-expect-error -- the payload of another task
  const wrong: NewTask<Orders> = { name: 'order.pack', payload: { orderId: '1' } };
  // @ts-expect-error -- the payload of another task
  await queue.schedule('k', { everyMs: 60_000 }, 'order.total', 'abc').catch(() => undefined);
  const claimed = (task: ClaimedTask<Orders>): string =>
    task.name === 'order.pack' ? task.payload : task.id;
  expect([claimed, wrong]).toHaveLength(2);
});
