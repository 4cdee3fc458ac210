/** A worker whose slots are all taken has nothing to settle and nothing to take, for as long as its handlers run. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();
let held = gate();

beforeEach(() => {
  held = gate();
});

afterEach(() => held.open());

function handlers(): Record<string, () => Promise<void> | void> {
  return { slow: () => held.passed, quick: () => undefined };
}

test('schedules fire all the same, also those that come while it is full', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  await launch(redis, 'q', handlers(), { prefix, concurrency: 1 });
  await queue.enqueue('slow', 1);
  await until(async () => (await queue.counts()).active === 1);
  await queue.schedule('tick', { everyMs: 3_000 }, 'quick', 1);
  await until(async () => (await queue.counts()).ready >= 2);
  expect(await queue.counts()).toMatchObject({ active: 1 });
  held.open();
  await until(async () => (await queue.counts()).succeeded >= 3);
});

test('it tells other queues of the ends of their children', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  const other = new Queue(redis, 'other', { prefix });
  await launch(redis, 'other', handlers(), { prefix, concurrency: 1 });
  await other.enqueue('slow', 1);
  await until(async () => (await other.counts()).active === 1);
  const flow = await queue.enqueueFlow({
    name: 'quick',
    payload: 1,
    children: [{ name: 'quick', queue: 'other', payload: 1 }],
  });
  await other.cancel(flow.children[0]!.id);
  await until(async () => (await queue.get(flow.id))?.state === 'dead');
  expect(await other.counts()).toMatchObject({ active: 1, cancelled: 1 });
});
