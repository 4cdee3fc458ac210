import { expect, test } from '@jest/globals';
import { queueView, settingsView } from '@mortise/queues/admin';
import { newQueue } from '../fixture/new-queue.js';

test('a queue without limits has null for each', async () => {
  const { queue } = newQueue();
  await queue.enqueue('t', 1, { delayMs: 60_000 });
  const view = await queueView(queue);
  expect(view).toMatchObject({
    name: 'q',
    priorities: ['high', 'medium', 'low'],
    shards: 1,
    isPaused: false,
    concurrency: null,
    rate: null,
    groups: { concurrency: null, rate: null, isOrdered: false },
    maxTasks: null,
    counts: { scheduled: 1, ready: 0 },
    load: null,
    headAgeMs: null,
  });
  const { counts: _1, load: _2, headAgeMs: _3, ...settings } = view;
  expect(settingsView('q', await queue.settings())).toEqual(settings);
});

test('the load is of all shards, the age that of the next task', async () => {
  const { queue } = newQueue({ shards: 2 });
  await queue.configure({ concurrency: 4, groups: { concurrency: 1, ordered: true } });
  for (const id of ['a', 'b', 'c']) await queue.enqueue('t', 1, { id });
  const { load, headAgeMs, groups } = await queueView(queue);
  expect([load, groups]).toEqual([0.75, { concurrency: 1, rate: null, isOrdered: true }]);
  expect(headAgeMs).toBeGreaterThanOrEqual(0);
  expect(headAgeMs).toBeLessThan(60_000);
});
