/** The order of jobs of many kinds in the layer and in BullMQ itself. */
import { describe, expect, test } from '@jest/globals';
import * as layer from '@mortise/queues/bullmq';
import { freshPrefix, until } from '@mortise/test-kit';
import * as bullmq from 'bullmq';

const connection = { url: process.env['MORTISE_TEST_REDIS']!, maxRetriesPerRequest: null };
const library = layer as unknown as typeof bullmq;
const DELAY_MS = 40;
const LONGEST_DELAY_MS = DELAY_MS + 5;

interface Scene {
  readonly queue: bullmq.Queue;
  readonly add: (name: string, opts?: bullmq.JobsOptions) => Promise<bullmq.Job>;
}

/** The names of the jobs in the order of their starts, with one slot; a job runs for 5 ms. */
async function orderOf(
  { Queue, Worker }: typeof bullmq,
  prepare: (scene: Scene) => Promise<unknown>,
  process_: (job: bullmq.Job, scene: Scene) => unknown = () => undefined,
): Promise<string[]> {
  // Braces for BullMQ: the node is one of a cluster.
  const prefix = `{${freshPrefix()}}`;
  const queue = new Queue('order', { connection, prefix });
  let added = 0;
  const scene: Scene = {
    queue,
    add: (name, opts) => {
      added += 1;
      return queue.add(name, {}, opts);
    },
  };
  await prepare(scene);
  // Delays begin when the server stores the jobs, which is over. The timestamp of a job may be much earlier on a busy machine.
  const dueAt = Date.now() + LONGEST_DELAY_MS;
  await until('due jobs', () => Date.now() > dueAt);
  const started: string[] = [];
  const worker = new Worker(
    'order',
    async (job) => {
      started.push(job.name);
      await process_(job, scene);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    },
    { connection, prefix },
  );
  worker.on('error', () => undefined);
  // Counts of other states could miss a job that moves between two reads.
  await until('the ends of all jobs', async () => (await queue.getCompletedCount()) === added);
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  return started;
}

/** The orders in the layer and in BullMQ. */
async function orders(
  prepare: (scene: Scene) => Promise<unknown>,
  process_?: (job: bullmq.Job, scene: Scene) => unknown,
): Promise<string[]> {
  const ours = await orderOf(library, prepare, process_);
  const theirs = await orderOf(bullmq, prepare, process_);
  return [ours.join(' '), theirs.join(' ')];
}

const both = (order: string): string[] => [order, order];

describe('due jobs take their places among the waiting ones', () => {
  test('by priority, and at the end without one', async () => {
    const order = await orders(async ({ add }) => {
      await add('due', { delay: DELAY_MS });
      await add('due-too', { delay: LONGEST_DELAY_MS });
      await add('due5', { delay: DELAY_MS, priority: 5 });
      await add('due2', { delay: DELAY_MS, priority: 2 });
      await add('waits');
      await add('waits5', { priority: 5 });
      await add('waits2', { priority: 2 });
      await add('waits9', { priority: 9 });
    });
    expect(order).toEqual(both('waits due due-too waits2 due2 waits5 due5 waits9'));
  });

  test('the latest of a priority is the last, with the other end for LIFO', async () => {
    const order = await orders(async ({ queue, add }) => {
      await add('plain');
      await add('lifo1', { lifo: true });
      await add('lifo2', { lifo: true });
      const moved = await add('c3', { priority: 1 });
      await add('a3', { priority: 3 });
      await add('a9', { priority: 9 });
      await add('b3', { priority: 3 });
      const first = await add('first9', { priority: 20 });
      await moved.changePriority({ priority: 3 });
      await first.changePriority({ priority: 9, lifo: true });
      expect(await queue.getCountsPerPriority([3, 9])).toEqual({ 3: 3, 9: 2 });
    });
    expect(order).toEqual(both('lifo2 lifo1 plain a3 b3 c3 first9 a9'));
  });

  test('a promoted job, and a delayed one whose priority changes', async () => {
    const order = await orders(async ({ add }) => {
      const promoted = await add('promoted', { delay: 3_600_000 });
      const promoted4 = await add('promoted4', { delay: 3_600_000, priority: 4 });
      const changed = await add('changed4', { delay: DELAY_MS });
      const lowered = await add('lowered7', { delay: DELAY_MS, priority: 1 });
      await add('plain');
      await add('a4', { priority: 4 });
      await add('b7', { priority: 7 });
      await promoted.promote();
      await changed.changePriority({ priority: 4 });
      await lowered.changePriority({ priority: 7 });
      await promoted4.promote();
    });
    expect(order).toEqual(both('plain promoted a4 promoted4 changed4 b7 lowered7'));
  });
});

test('a retried job waits by its priority, after its backoff and without one', async () => {
  const prepare = async ({ add }: Scene): Promise<void> => {
    await add('at-once2', { priority: 2, attempts: 2 });
    await add('later2', { priority: 2, attempts: 2, backoff: { type: 'fixed', delay: 1 } });
    for (const name of ['a2', 'b2']) await add(name, { priority: 2 });
    for (const name of ['a5', 'b5']) await add(name, { priority: 5 });
  };
  const order = await orders(prepare, ({ name, attemptsMade }) => {
    if (attemptsMade === 0 && name.endsWith('e2')) throw new Error('once more');
    if (attemptsMade === 0 && name.startsWith('later')) throw new Error('once more');
  });
  expect(order).toEqual(both('at-once2 later2 a2 b2 at-once2 later2 a5 b5'));
});

test('a retried job without a priority goes to the end, and to the front as a LIFO job', async () => {
  const prepare = async ({ add }: Scene): Promise<void> => {
    await add('flaky', { attempts: 2, backoff: { type: 'fixed', delay: 1 } });
    for (const name of ['a', 'b']) await add(name);
    await add('last9', { priority: 9 });
    await add('front', { lifo: true, attempts: 2 });
  };
  const order = await orders(prepare, ({ name, attemptsMade }) => {
    if (attemptsMade === 0 && (name === 'flaky' || name === 'front')) throw new Error('once more');
  });
  expect(order).toEqual(both('front front flaky a b flaky last9'));
});

test('due jobs do not wait for an endless stream of jobs with a lower priority', async () => {
  let added = 0;
  const started = await orderOf(
    library,
    async ({ add }) => {
      await add('due', { delay: DELAY_MS, priority: 1 });
      for (let index = 0; index < 20; index += 1) await add('fill', { priority: 9 });
    },
    async ({ name }, { add }) => {
      added += 1;
      if (name === 'fill' && added < 40) await add('fill', { priority: 9 });
    },
  );
  expect(started.indexOf('due')).toBe(0);
  expect(started.length).toBeGreaterThan(40);
});
