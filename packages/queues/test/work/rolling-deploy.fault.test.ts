import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { kill, startProcess } from '../fixture/processes.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

async function stop(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.send('stop');
  await exit;
}

test('old and new workers side by side under load: each task of either name runs once', async () => {
  const { prefix, queue } = newQueue();
  const url = process.env['MORTISE_TEST_REDIS']!;
  const launch = (names: readonly string[]) =>
    startProcess(url, 'q', { prefix, names, concurrency: 5, keepSucceeded: 10_000 });
  let enqueued = 0;
  // Producers are new first.
  const load = async (count: number): Promise<void> => {
    const tasks = Array.from({ length: count }, (_, index) => ({
      name: index % 3 === 0 ? 'new' : 'old',
      payload: index,
      options: { id: String(enqueued + index), attempts: 1 },
    }));
    for (let from = 0; from < count; from += 10) await queue.enqueueMany(tasks.slice(from, from + 10));
    enqueued += count;
  };
  const olds = [launch(['old']), launch(['old']), launch(['old'])];
  await load(300);
  // Without a new worker, what is old is done, and what is new waits.
  await until(async () => {
    const { succeeded, retrying } = await queue.counts();
    return succeeded === 200 && retrying > 50;
  });
  const news = [];
  for (const old of olds) {
    news.push(launch(['old', 'new']));
    await load(300);
    await until(async () => (await queue.names()).includes('new'));
    await load(300);
    await stop(old.child);
  }
  await counted(queue, { succeeded: enqueued, retrying: 0, active: 0, ready: 0, dead: 0 });
  const runs = await redis.hgetall(`${prefix}:runs`);
  expect(Object.keys(runs)).toHaveLength(enqueued);
  expect(Object.entries(runs).filter(([, count]) => count !== '1')).toEqual([]);
  for await (const task of queueOf(queue)) expect(task).toMatchObject({ attempt: 1, attempts: 1 });
  const codes = new Set([...olds, ...news].flatMap(({ reports }) => reports.map(({ code }) => code)));
  expect([...codes].filter((code) => code !== undefined)).toEqual(['ERR_HANDLER_MISSING']);
  await Promise.all(news.map(({ child }) => kill(child)));
});

test('old workers that are killed lose no task of a new name', async () => {
  const { prefix, queue } = newQueue();
  const url = process.env['MORTISE_TEST_REDIS']!;
  const launch = (names: readonly string[]) =>
    startProcess(url, 'q', { prefix, names, leaseMs: 1_000, concurrency: 5, prefetch: 8 });
  const olds = [launch(['old']), launch(['old'])];
  await until(async () => (await queue.names()).includes('old'));
  await queue.enqueueMany(Array.from({ length: 200 }, (_, index) => ({ name: 'new', payload: index })));
  // All were fetched at least once.
  await until(async () => (await queue.counts()).retrying > 150);
  await kill(olds[0]!.child);
  const fresh = launch(['new']);
  await until(async () => (await queue.counts()).succeeded > 0);
  await kill(olds[1]!.child);
  await counted(queue, { succeeded: 200, active: 0 });
  expect(await queue.counts()).toMatchObject({ retrying: 0, dead: 0 });
  await kill(fresh.child);
});

async function* queueOf(queue: ReturnType<typeof newQueue>['queue']) {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof queue.list>> = await queue.list('succeeded', {
      cursor,
      limit: 500,
    });
    yield* page.tasks;
    cursor = page.cursor;
  } while (cursor !== null);
}
