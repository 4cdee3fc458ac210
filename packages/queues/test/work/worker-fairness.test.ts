import { describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import type { Fairness } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { watched } from '../fixture/commands-of.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

/** In which order a worker runs what several queues hold. */
async function order(
  queues: readonly string[],
  tasks: number,
  fairness: Fairness,
  concurrency: number,
): Promise<string[]> {
  const prefix = freshPrefix();
  for (const name of queues) {
    const queue = new Queue<Tasks>(redis, name, { prefix });
    await queue.enqueueMany(Array.from({ length: tasks }, () => ({ name: 't', payload: name })));
  }
  const { client, quiet } = await watched();
  const run: string[] = [];
  const ends: (() => void)[] = [];
  const t = (payload: string): Promise<void> => {
    run.push(payload);
    return new Promise((resolve) => ends.push(resolve));
  };
  await launch(client, [...queues], { t }, { prefix, fairness, concurrency });
  while (run.length < queues.length * tasks) {
    // All replies have come, so that all queues are known to have tasks.
    await quiet();
    for (const end of ends.splice(0)) end();
  }
  for (const end of ends.splice(0)) end();
  return run;
}

function shareOf(run: readonly string[], queue: string): number {
  return run.filter((name) => name === queue).length / run.length;
}

describe('several queues', () => {
  test('by turns, each gets its part of the slots', async () => {
    const run = await order(['a', 'b', 'c'], 100, 'rotate', 4);
    // The first replies come before the others have been asked.
    for (const queue of ['a', 'b', 'c'])
      expect(Math.abs(shareOf(run.slice(0, 240), queue) - 1 / 3)).toBeLessThan(0.1);
  });

  test('by weights, as many as these say', async () => {
    const run = await order(['a', 'b'], 150, { a: 3 }, 4);
    expect(Math.abs(shareOf(run.slice(0, 180), 'a') - 3 / 4)).toBeLessThan(0.12);
  });

  test('one slot is enough', async () => {
    const run = await order(['a', 'b'], 30, 'rotate', 1);
    expect(Math.abs(shareOf(run.slice(0, 40), 'a') - 1 / 2)).toBeLessThan(0.15);
  });

  test('strictly, a later one has to wait', async () => {
    const run = await order(['a', 'b'], 40, 'strict', 3);
    expect(run).toEqual([...Array<string>(40).fill('a'), ...Array<string>(40).fill('b')]);
  });

  test('an empty queue costs the others nothing', async () => {
    const prefix = freshPrefix();
    const queue = new Queue<Tasks>(redis, 'a', { prefix });
    await queue.enqueueMany(Array.from({ length: 20 }, () => ({ name: 't', payload: 1 })));
    let active = 0;
    const t = async (): Promise<never> => {
      active += 1;
      return new Promise<never>(() => undefined);
    };
    await launch(redis, ['empty', 'a', 'none'], { t }, { prefix, fairness: { empty: 9 }, concurrency: 20 });
    await until(() => active === 20);
    expect(await queue.counts()).toMatchObject({ active: 20 });
  });

  test('a queue that is not served cannot have a weight', () => {
    expect(() => new Worker(redis, ['a'], { t: () => 1 }, { fairness: { b: 1 } })).toThrow(RangeError);
  });
});

describe('a queue with shards', () => {
  test('one worker serves all of them', async () => {
    const prefix = freshPrefix();
    const run: number[] = [];
    const worker = await launch(redis, 'q', { t: (payload: number) => void run.push(payload) }, { prefix });
    const queue = new Queue<Tasks>(redis, 'q', { prefix, shards: 4 });
    // The worker was there first and learns of them.
    for (let payload = 0; payload < 40; payload += 1) await queue.enqueue('t', payload);
    await until(() => run.length === 40);
    expect(run.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    worker.pause();
    await worker.stop();
    expect(await queue.counts()).toMatchObject({ succeeded: 40, active: 0 });
  });

  test('which take turns', async () => {
    const prefix = freshPrefix();
    const queue = new Queue<Tasks>(redis, 'q', { prefix, shards: 3 });
    for (let index = 0; index < 120; index += 1) await queue.enqueue('t', index);
    const { client, quiet } = await watched();
    const run: unknown[] = [];
    const ends: (() => void)[] = [];
    const t = (payload: unknown): Promise<void> => {
      run.push(payload);
      return new Promise((resolve) => ends.push(resolve));
    };
    const worker = await launch(client, 'q', { t }, { prefix, concurrency: 2 });
    while (run.length < 60) {
      await quiet();
      for (const end of ends.splice(0)) end();
    }
    await worker.stop({ graceMs: 0 });
    const left = await Promise.all(
      [0, 1, 2].map(async (shard) => {
        const { QueueKeys } = await import('../../src/keys.js');
        return redis.llen(new QueueKeys('q', prefix, shard).priorityKeys(3)[3]!);
      }),
    );
    expect(Math.max(...left) - Math.min(...left)).toBeLessThan(15);
  });
});
