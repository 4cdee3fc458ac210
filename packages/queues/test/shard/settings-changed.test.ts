/** Settings that change, or get lost, while there is work: nothing is stuck, run although it must not be, or half stored. */
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const AN_HOUR = 3_600_000;

describe('features used under a pause or a limit stay when it is removed', () => {
  test('cancelled tasks and groups', async () => {
    const { queue, work } = newQueue();
    await queue.pause();
    // In the middle of a long list a cancelled task leaves a hole.
    const many = await queue.enqueueMany(Array.from({ length: 300 }, (_, n) => ({ name: 't', payload: n })));
    await queue.cancel(many[150]!.id);
    await queue.enqueue('t', 'grouped', { group: 'g' });
    await queue.resume();
    const run = new Set<unknown>();
    await work({ t: (payload: unknown) => void run.add(payload) });
    await counted(queue, { succeeded: 300 });
    expect(run.has('grouped')).toBe(true);
    expect(run.has(150)).toBe(false);
    expect(await queue.counts()).toMatchObject({ ready: 0, cancelled: 1, succeeded: 300 });
  });

  test('the settings keep `optional` after any limit', async () => {
    const { queue } = newQueue();
    await queue.configure({ concurrency: 1, keepEvents: 10 });
    await queue.enqueue('t', 1, { group: 'g' });
    await queue.configure({ concurrency: null, keepEvents: 0 });
    expect(await queue.settings()).toMatchObject({ hasOptional: true });
  });
});

describe('groups', () => {
  test('a task that falls due is run at once by the only worker, not with its next look', async () => {
    const { queue, work } = newQueue();
    const began: number[] = [];
    const handlers = {
      t: () => {
        began.push(performance.now());
        if (began.length < 3) throw new Error('again');
      },
    };
    await work(handlers, { backoff: { type: 'fixed', delayMs: 50, jitter: 0 } });
    const from = performance.now();
    await queue.enqueue('t', 1, { group: 'g', delayMs: 50 });
    await until(() => began.length === 3);
    // Each look comes 3 s after the last one or later.
    expect(began[2]! - from).toBeLessThan(3_000);
  });

  test('of new settings have the idle worker registered under them', async () => {
    const { queue, keys, work } = newQueue();
    await work({ t: () => undefined });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    await queue.configure({ groups: { concurrency: 1 } });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    expect((await redis.zrange(keys.of.idle, '0', '-1'))[0]).toMatch(/^0 - /);
  });

  test('whose limits are lifted go on', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ groups: { rate: { limit: 1, periodMs: AN_HOUR } } });
    const run: unknown[] = [];
    await work({ t: (payload: unknown) => void run.push(payload) });
    for (const group of ['a', 'b'])
      for (let n = 0; n < 3; n += 1) await queue.enqueue('t', `${group}${n}`, { group });
    await counted(queue, { succeeded: 2 });
    await queue.configure({ groups: { rate: { limit: 100, periodMs: 1_000 } } });
    await counted(queue, { succeeded: 6 });
    expect(run).toHaveLength(6);
  });

  test('whose concurrency is raised start more, and no more than that once it is lowered', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ groups: { concurrency: 1 } });
    const began: unknown[] = [];
    const door = gate();
    const t = (payload: unknown): Promise<void> => {
      began.push(payload);
      return door.passed;
    };
    await work({ t });
    for (let n = 0; n < 6; n += 1) await queue.enqueue('t', n, { group: 'g' });
    await until(() => began.length === 1);
    await queue.configure({ groups: { concurrency: 5 } });
    await until(() => began.length === 5);
    await queue.configure({ groups: { ordered: true } });
    await queue.enqueue('t', 6, { group: 'g' });
    await queue.enqueue('t', 'of another', { group: 'h' });
    await until(() => began.length === 6);
    expect(began).toEqual([0, 1, 2, 3, 4, 'of another']);
    door.open();
    await counted(queue, { succeeded: 8 });
  });
});

test('another rate holds at once, whatever was used under the one before', async () => {
  const { queue, work } = newQueue();
  await queue.configure({ rate: { limit: 1, periodMs: AN_HOUR } });
  const run: unknown[] = [];
  await work({ t: (payload: unknown) => void run.push(payload) });
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
  await until(() => run.length === 1);
  await queue.configure({ rate: { limit: 10, periodMs: 1_000 } });
  await until(() => run.length === 3);
  expect(run).toEqual([1, 2, 3]);
});

test('lost settings, stored again by a process with fewer features: tasks are stored as a whole', async () => {
  const { queue, keys, work } = newQueue();
  await queue.enqueue('t', 1, { group: 'g' });
  await redis.set(keys.of.settings, 'high,medium,low');
  await Promise.all([queue.enqueue('t', 2), queue.enqueue('t', 3, { group: 'g' })]);
  const run = new Set<unknown>();
  await work({ t: (payload: unknown) => void run.add(payload) });
  await counted(queue, { succeeded: 3 });
  expect(run).toEqual(new Set([1, 2, 3]));
});

test('lost settings: tasks that are cancelled afterwards do not run', async () => {
  const { queue, keys, work } = newQueue();
  const many = await queue.enqueueMany(Array.from({ length: 300 }, (_, n) => ({ name: 't', payload: n })));
  await queue.cancel(many[0]!.id);
  await redis.set(keys.of.settings, 'high,medium,low');
  await queue.cancel(many[150]!.id);
  const run = new Set<unknown>();
  await work({ t: (payload: unknown) => void run.add(payload) });
  await counted(queue, { succeeded: 298 });
  expect(run.has(150)).toBe(false);
});

test('a producer that knew the queue before it was created with shards stores each id where it belongs', async () => {
  const { queue, prefix } = newQueue();
  expect(await queue.counts()).toMatchObject({ ready: 0 });
  const creator = new Queue(redis, 'q', { prefix, shards: 4 });
  await creator.enqueue('t', 0);
  const ids = Array.from({ length: 8 }, (_, n) => `id ${n}`);
  const early = await Promise.all(ids.map((id) => queue.enqueue('t', 1, { id })));
  const late = await Promise.all(ids.map((id) => creator.enqueue('t', 1, { id })));
  expect(early.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => false));
  expect(late.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => true));
  expect(await queue.counts()).toMatchObject({ ready: 9 });
});
