import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { Page, Task, TaskState, TaskSummary } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

interface Mail {
  'mail.sold': { itemId: string; price: number };
  'mail.expired': { itemId: string };
}

const redis = connect();

test('listed tasks have the types of enqueued ones', async () => {
  const queue = new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
  await queue.enqueue('mail.sold', { itemId: '42', price: 97 });
  const page: Page<Task<Mail>> = await queue.list('ready');
  const [task] = page.tasks;
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const price: number = task.payload.price;
  const { tasks: summaries } = await queue.summaries('ready', { limit: 10 });
  const summary: TaskSummary<Mail> = summaries[0]!;
  // @ts-expect-error -- left out
  expect(summary.payload).toBeUndefined();
  // @ts-expect-error -- left out
  expect(summary.result).toBeUndefined();
  const isNamed: boolean = summary.name === 'mail.expired';
  expect([price, isNamed]).toEqual([97, false]);
});

test('states and options that there are not', async () => {
  const queue = new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
  const state: TaskState = 'waiting';
  expect(await queue.list(state)).toEqual({ tasks: [], cursor: null });
  // @ts-expect-error -- no state
  await expect(queue.list('done')).rejects.toThrow(RangeError);
  // @ts-expect-error -- not of those that have ended
  await expect(queue.clean('ready')).rejects.toThrow(RangeError);
  // @ts-expect-error -- what has succeeded is not retried
  await expect(queue.retryAll({ state: 'succeeded' })).rejects.toThrow(RangeError);
  // @ts-expect-error -- an id is a string
  await expect(queue.remove(42)).rejects.toThrow(TypeError);
  // @ts-expect-error -- a reason is text
  await expect(queue.cancel('a', { reason: new Error('why') })).rejects.toThrow(TypeError);
  const isDone: boolean = await queue.cancel('a');
  const count: number = await queue.drain();
  expect([isDone, count]).toEqual([false, 0]);
});
