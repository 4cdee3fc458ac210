import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { connectTo, keys, prefix, queueOn, server } from './faults.js';
import { launch } from './launch.js';
import { kill, startProcess } from './processes.js';
import { until } from './until.js';

describe('a worker that is killed', () => {
  test('what it held runs again within its lease and a second', async () => {
    const single = await server();
    const redis = connectTo(single);
    const queue = queueOn(redis);
    const options = { prefix, leaseMs: 1_000 };
    const { child, told } = startProcess(single.url, 'q', { ...options, concurrency: 30 });
    await queue.enqueueMany(Array.from({ length: 30 }, () => ({ name: 'wait', payload: 60_000 })));
    await until(() => told.length === 30);
    const run: number[] = [];
    await launch(redis, 'q', { wait: (_, { attempt }) => void run.push(attempt) }, options);
    await until(async () => (await redis.zcard(keys.of.idle)) > 0);
    await kill(child);
    const killedAt = performance.now();
    await until(() => run.length === 30);
    expect(performance.now() - killedAt).toBeLessThan(2_300);
    expect(new Set(run)).toEqual(new Set([2]));
  });

  test('another one takes over the time that it kept', async () => {
    const single = await server();
    const redis = connectTo(single);
    const queue = queueOn(redis);
    const options = { prefix, leaseMs: 1_000 };
    const { child } = startProcess(single.url, 'q', options);
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const due = performance.now() + 700;
    await queue.enqueue('wait', 0, { delayMs: 700 });
    await until(async () => (await redis.get(keys.of.timekeeper)) !== null);
    let startedAt = 0;
    await launch(redis, 'q', { wait: () => void (startedAt = performance.now()) }, options);
    await until(async () => (await redis.zcard(keys.of.idle)) === 2);
    await kill(child);
    await until(() => startedAt > 0);
    expect(startedAt - due).toBeLessThan(2_000);
  });

  test('a task that kills every worker ends among the dead', async () => {
    const single = await server();
    const queue = queueOn(connectTo(single));
    const { id } = await queue.enqueue('crash', 1, { attempts: 2 });
    const begun: unknown[] = [];
    for (let n = 0; n < 2; n += 1) {
      const { child, told } = startProcess(single.url, 'q', { prefix, leaseMs: 1_000 });
      await once(child, 'exit');
      begun.push(...told.map(({ type, attempt }) => [type, attempt]));
    }
    startProcess(single.url, 'q', { prefix, leaseMs: 1_000 });
    await until(async () => (await queue.get(id))?.state === 'dead');
    expect(begun).toEqual([
      ['begin', 1],
      ['begin', 2],
    ]);
    expect(await queue.get(id)).toMatchObject({
      attempt: 2,
      error: expect.stringContaining('the lease ended'),
    });
  });

  test('a handler that blocks the event loop for longer than the lease cannot complete', async () => {
    const single = await server();
    const redis = connectTo(single);
    const queue = queueOn(redis);
    const options = { prefix, leaseMs: 1_000 };
    const { told } = startProcess(single.url, 'q', options);
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const { id } = await queue.enqueue('block', 2_500);
    await until(() => told.length === 1);
    await launch(redis, 'q', { block: () => 'done in time' }, options);
    await until(async () => (await queue.get(id))?.state === 'succeeded');
    await until(() => told.length === 2);
    expect(told[1]).toMatchObject({ type: 'error', code: 'ERR_LEASE_LOST' });
    expect(await queue.get(id)).toMatchObject({ result: 'done in time', attempt: 2 });
  });

  test('20,000 tasks, three processes that are killed at random: none is lost', async () => {
    const single = await server();
    const redis = connectTo(single);
    const queue = queueOn(redis);
    const total = 20_000;
    const options = { prefix, leaseMs: 1_000, concurrency: 100, keepSucceeded: total, isQuiet: true };
    const processes = Array.from({ length: 3 }, () => startProcess(single.url, 'q', options));
    await until(async () => (await redis.zcard(keys.of.idle)) === 3);
    const enqueued = queue.enqueueMany(
      Array.from({ length: total }, (_, payload) => ({ name: 'count', payload, options: { attempts: 50 } })),
    );
    let kills = 0;
    const isDone = async (): Promise<boolean> => (await queue.counts()).succeeded === total;
    for (let round = 0; !(await isDone()); round += 1) {
      if (kills < 6) {
        const before = (await queue.counts()).succeeded;
        await until(async () => (await queue.counts()).succeeded >= Math.min(total, before + 500));
        const victim = round % processes.length;
        await kill(processes[victim]!.child);
        kills += 1;
        processes[victim] = startProcess(single.url, 'q', options);
      } else {
        await until(isDone, 10_000);
      }
    }
    const ids = (await enqueued).map(({ id }) => id);
    const runs = await redis.hgetall(`${prefix}:runs`);
    expect(new Set(Object.keys(runs))).toEqual(new Set(ids));
    expect(await queue.counts()).toEqual({
      scheduled: 0,
      ready: 0,
      active: 0,
      retrying: 0,
      succeeded: total,
      dead: 0,
      cancelled: 0,
      waiting: 0,
    });
    expect(kills).toBeGreaterThan(2);
    expect(processes.flatMap(({ told }) => told.map(({ code }) => code))).toEqual([]);
  });
});
