/** Limits and the pause of a queue with shards: they hold for all shards together. */
import { expect, test } from '@jest/globals';
import { gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** Waits until so many workers are idle in each of four shards. */
function idleEverywhere(prefix: string, workers: number): Promise<unknown> {
  return until(async () => {
    const idle = await Promise.all(
      range(4).map((shard) => redis.zcard(new QueueKeys('q', prefix, shard).of.idle)),
    );
    return idle.every((count) => count === workers) || undefined;
  });
}

test('a concurrency holds for all shards together, each of which has an equal share', async () => {
  const { queue, work } = newQueue({ shards: 4 });
  await queue.configure({ concurrency: 9 });
  await queue.enqueueMany(
    range(80).map((n) => ({ name: 't', payload: n, options: { id: `id ${n}` } }) as const),
  );
  const opened = gate();
  let [running, most] = [0, 0];
  const t = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await opened.passed;
    running -= 1;
  };
  await work({ t }, { concurrency: 50 });
  await work({ t }, { concurrency: 50 });
  await until(() => running === 8);
  await queue.reshard(5);
  opened.open();
  await counted(queue, { succeeded: 80 });
  expect(most).toBe(8);
});

test('the limits of a group are whole in its shard', async () => {
  const { queue, work } = newQueue({ shards: 4 });
  await queue.configure({ groups: { concurrency: 3 } });
  await queue.enqueueMany(
    range(40).map((n) => ({ name: 't', payload: `g${n % 4}`, options: { group: `g${n % 4}` } }) as const),
  );
  const opened = gate();
  const running = new Map<string, number>();
  await work(
    {
      async t(group: string) {
        running.set(group, (running.get(group) ?? 0) + 1);
        await opened.passed;
      },
    },
    { concurrency: 50 },
  );
  await until(() => [...running.values()].reduce((sum, count) => sum + count, 0) === 12);
  expect([...running.values()]).toEqual([3, 3, 3, 3]);
  opened.open();
  await counted(queue, { succeeded: 40 });
});

test('a rate holds for all shards together', async () => {
  const { queue, prefix, work } = newQueue({ shards: 4 });
  // Two starts in each shard at once, and none for an hour after that.
  await queue.configure({ rate: { limit: 9, periodMs: 36_000_000, burst: 8 } });
  await queue.enqueueMany(
    range(80).map((n) => ({ name: 't', payload: n, options: { id: `id ${n}` } }) as const),
  );
  await work({ t: () => undefined }, { concurrency: 50 });
  // Each shard has answered, with as many tasks as it may.
  await idleEverywhere(prefix, 1);
  await until(async () => (await queue.counts()).active === 0 || undefined);
  expect(await queue.counts()).toMatchObject({ succeeded: 8, ready: 72 });
});

test('maxTasks holds for all shards together', async () => {
  const { queue } = newQueue({ shards: 4 });
  await queue.configure({ maxTasks: 10 });
  const stored = await Promise.allSettled(range(60).map((n) => queue.enqueue('t', n, { id: `id ${n}` })));
  expect(stored.filter(({ status }) => status === 'fulfilled').length).toBe(8);
  expect(await queue.counts()).toMatchObject({ ready: 8 });
});

test('a limit without a share for each shard is refused', async () => {
  const { queue } = newQueue({ shards: 4 });
  await queue.enqueue('t', 1);
  await expect(queue.configure({ concurrency: 3 })).rejects.toThrow(
    'concurrency must be at least the number of shards, 4, got 3',
  );
  await expect(queue.configure({ maxTasks: 3 })).rejects.toThrow('maxTasks must be at least');
  expect(await queue.settings()).toMatchObject({ concurrency: undefined, maxTasks: undefined });
});

test('a pause holds in all shards, and so does its end', async () => {
  const { queue, prefix, work } = newQueue({ shards: 4 });
  const run: unknown[] = [];
  await work({ t: (payload: unknown) => void run.push(payload) });
  await queue.pause();
  await idleEverywhere(prefix, 1);
  await queue.enqueueMany(
    range(40).map((n) => ({ name: 't', payload: n, options: { id: `id ${n}` } }) as const),
  );
  // Its first calls find tasks.
  await work({ t: (payload: unknown) => void run.push(payload) });
  await idleEverywhere(prefix, 2);
  expect(run).toEqual([]);
  await queue.resume();
  await counted(queue, { succeeded: 40 });
});
