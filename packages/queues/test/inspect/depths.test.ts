import { expect, test } from '@jest/globals';
import { Queue, queueDepthsOf } from '@mortise/queues';
import { freshPrefix, until } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';

const MINUTE_MS = 60_000;
const NOTHING = { ready: 0, scheduled: 0, retrying: 0 };
/** The tasks of each span. */
const tasksOf = (spans: readonly { readonly tasks: number }[]): number[] => spans.map(({ tasks }) => tasks);

test('it has the waiting tasks of each priority, without removed ones', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  for (const id of ['a', 'b', 'c']) await queue.enqueue('t', 1, { id, priority: 'high' });
  await queue.remove('b');
  await queue.enqueue('t', 1, { priority: 'low', delayMs: MINUTE_MS });
  await queue.enqueue('t', 1, { priority: 'low', delayMs: 1 });
  await queue.enqueue('t', 1, { group: 'g', priority: 'low' });
  await until('the delayed one is ready', async () => (await queue.counts()).ready === 4);
  const { priorities, inGroups } = await queueDepthsOf(redis, 'q', { prefix });
  expect(priorities).toEqual([
    { priority: 'high', ...NOTHING, ready: 2 },
    { priority: 'medium', ...NOTHING },
    { priority: 'low', ready: 1, scheduled: 1, retrying: 0 },
  ]);
  expect(inGroups).toBe(1);
});

test('it has the tasks that become due in a minute, 5, 15, an hour, a day and later, of all shards', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix, shards: 3, priorities: ['one', 'two'] });
  const minutes = [0.5, 2, 3, 10, 30, 40, 50, 600, 5_000];
  await queue.enqueueMany(
    minutes.map((delay, index) => ({
      name: 't',
      payload: 1,
      options: { delayMs: delay * MINUTE_MS, priority: index % 2 ? 'one' : 'two' },
    })),
  );
  await queue.enqueue('fail', 1, { backoff: { type: 'fixed', delayMs: 20 * MINUTE_MS, jitter: 0 } });
  await launch(redis, 'q', { fail: () => Promise.reject(new Error('no')) }, { prefix });
  await until('the failure', async () => (await queue.counts()).retrying === 1);
  const { due, priorities } = await queueDepthsOf(redis, 'q', { prefix });
  expect(due.map(({ withinMs }) => withinMs)).toEqual([
    60_000,
    300_000,
    900_000,
    3_600_000,
    86_400_000,
    null,
  ]);
  expect(tasksOf(due)).toEqual([1, 2, 1, 4, 1, 1]);
  const waiting = priorities.map(({ scheduled, retrying }) => scheduled + retrying);
  expect(waiting.reduce((sum, count) => sum + count, 0)).toBe(10);
});

test('a queue that is not there has none', async () => {
  const { due, priorities } = await queueDepthsOf(redis, 'none', { prefix: freshPrefix() });
  expect([new Set(tasksOf(due)), priorities[0]]).toEqual([new Set([0]), { priority: 'high', ...NOTHING }]);
});
