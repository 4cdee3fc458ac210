import { describe, expect, test } from '@jest/globals';
import { TaskCancelledError } from '@mortise/queues';
import type { TaskState } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { encodeTaskId } from '../../src/task/task-id.js';
import { launch } from '../fixture/launch.js';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { until } from '../fixture/until.js';

const redis = connect();

/** The ids of the tasks that a worker runs, in order. */
async function runAll(bench: Bench, count: number): Promise<string[]> {
  const ran: string[] = [];
  const handlers = { ok: (_: unknown, { id }: { id: string }) => void ran.push(id) };
  const worker = await launch(redis, 'q', handlers, { prefix: bench.prefix, concurrency: 100 });
  await until(() => ran.length >= count);
  await until(async () => (await bench.queue.counts()).ready === 0);
  await worker.stop();
  return ran;
}

describe('cancel', () => {
  test.each<TaskState>(['ready', 'scheduled', 'retrying'])('a %s task is not run', async (state) => {
    const bench = new Bench({}, redis);
    if (state === 'retrying') await bench.work();
    const id = await bench.task(state);
    expect(await bench.queue.cancel(id, { reason: 'changed our mind' })).toBe(true);
    expect(await bench.queue.get(id)).toMatchObject({
      state: 'cancelled',
      error: 'changed our mind',
      attempt: state === 'retrying' ? 1 : 0,
      finishedAt: expect.any(Number),
    });
    await bench.expectCounts({ cancelled: 1 });
    if (state !== 'retrying') await bench.work();
    await bench.task('succeeded');
    await bench.expectCounts({ cancelled: 1, succeeded: 1 });
  });

  test('a task that has fallen due meanwhile, with and without a group', async () => {
    const bench = new Bench({}, redis);
    for (const [id, group] of [['a'], ['b', 'g'], ['c', 'g']] as const) {
      await bench.task('ready', id, { delayMs: 1, ...(group !== undefined && { group }) });
    }
    await until(async () => (await bench.queue.counts()).ready === 3);
    expect(await bench.queue.promote('a')).toBe(false);
    expect(await Promise.all(['a', 'b'].map((id) => bench.queue.cancel(id)))).toEqual([true, true]);
    await bench.expectCounts({ ready: 1, cancelled: 2 });
    expect(await runAll(bench, 1)).toEqual(['c']);
  });

  test('a task with a group', async () => {
    const bench = new Bench({}, redis);
    for (const id of ['a', 'b', 'c']) await bench.task('ready', id, { group: 'g' });
    expect(await bench.queue.cancel('b')).toBe(true);
    expect(await bench.queue.cancel('a')).toBe(true);
    await bench.expectCounts({ ready: 1, cancelled: 2 });
    expect(await runAll(bench, 1)).toEqual(['c']);
    expect(await redis.exists(bench.keys.of.grouped, bench.keys.of.runnableGroups)).toBe(0);
  });

  test('a group whose running task is cancelled goes on', async () => {
    const bench = new Bench({}, redis);
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.work();
    await bench.task('active', 'a', { group: 'g' });
    await bench.queue.enqueue('ok', 1, { id: 'b', group: 'g' });
    await bench.expectCounts({ active: 1, ready: 1 });
    expect(await bench.queue.cancel('a')).toBe(true);
    await until(async () => (await bench.queue.get('b'))?.state === 'succeeded');
  });

  test('a task that fails and holds its ordered group lets go of it', async () => {
    const bench = new Bench({}, redis);
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.work();
    await bench.task('retrying', 'a', { group: 'g' });
    await bench.queue.enqueue('ok', 1, { id: 'b', group: 'g' });
    await bench.expectCounts({ retrying: 1, ready: 1 });
    expect(await bench.queue.cancel('a')).toBe(true);
    await until(async () => (await bench.queue.get('b'))?.state === 'succeeded');
  });

  test('a running task: its signal is aborted, and its completion is refused', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const id = await bench.task('active');
    await until(() => bench.hanging.has(id));
    expect(await bench.queue.cancel(id, { reason: 'stop' })).toBe(true);
    await bench.expectCounts({ cancelled: 1 });
    await until(() => bench.hanging.get(id)!.signal.aborted);
    expect(bench.hanging.get(id)!.signal.reason).toBeInstanceOf(TaskCancelledError);
    expect(await bench.queue.get(id)).toMatchObject({ state: 'cancelled', attempt: 1, error: 'stop' });
    // The slot is free again.
    await bench.task('succeeded');
    await bench.expectCounts({ cancelled: 1, succeeded: 1 });
  });

  test('a handler that takes no notice does not succeed', async () => {
    const bench = new Bench({}, redis);
    let finish!: () => void;
    const done = new Promise<void>((resolve) => (finish = resolve));
    await launch(redis, 'q', { ok: () => done }, { prefix: bench.prefix, onError: () => undefined });
    await bench.queue.enqueue('ok', 1, { id: 'a' });
    await until(async () => (await bench.queue.counts()).active === 1);
    const cancelling = bench.queue.cancel('a');
    finish();
    const isCancelled = await cancelling;
    await until(async () => (await bench.queue.counts()).active === 0);
    const { state } = (await bench.queue.get('a'))!;
    // The one or the other, and the caller knows which.
    expect(state).toBe(isCancelled ? 'cancelled' : 'succeeded');
  });

  test('false for a task that has ended, or that there is not', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const ids = [await bench.task('succeeded'), await bench.task('dead'), await bench.task('cancelled')];
    for (const id of [...ids, 'nobody']) expect(await bench.queue.cancel(id)).toBe(false);
    await bench.expectCounts({ succeeded: 1, dead: 1, cancelled: 1 });
  });

  test('of two concurrent calls one resolves to true', async () => {
    const bench = new Bench({}, redis);
    const id = await bench.task('ready');
    const other = new Bench({}, connect());
    const answers = await Promise.all([
      bench.queue.cancel(id),
      bench.queue.cancel(id),
      new Bench({ prefix: bench.prefix }, other.redis).queue.cancel(id),
    ]);
    expect(answers.filter(Boolean)).toHaveLength(1);
    await bench.expectCounts({ cancelled: 1 });
  });

  test('ids of any form', async () => {
    const bench = new Bench({}, redis);
    for (const id of HOSTILE_IDS) await bench.task('ready', id);
    for (const id of HOSTILE_IDS) expect(await bench.queue.cancel(id)).toBe(true);
    for (const id of HOSTILE_IDS)
      expect(await bench.queue.get(id)).toMatchObject({ state: 'cancelled', payload: id });
    await bench.expectCounts({ cancelled: HOSTILE_IDS.length });
  });

  test('keeps the latest keepCancelled tasks', async () => {
    const bench = new Bench({ keepCancelled: 3 }, redis);
    for (let n = 0; n < 5; n += 1) await bench.task('cancelled', `n${n}`);
    await bench.expectCounts({ cancelled: 3 });
    const kept = [];
    for (let n = 0; n < 5; n += 1) if (await bench.queue.get(`n${n}`)) kept.push(n);
    expect(kept).toHaveLength(3);
    expect(await redis.hlen(bench.keys.of.attempts)).toBe(3);
  });

  test('refuses a reason that is none', async () => {
    const { queue } = new Bench({}, redis);
    await expect(queue.cancel('a', { reason: 7 as never })).rejects.toThrow(TypeError);
    await expect(queue.cancel('a', { reason: 'x'.repeat(1_025) })).rejects.toThrow(RangeError);
    await expect(queue.cancel('')).rejects.toThrow(RangeError);
  });
});

describe('a task in the middle of a long list', () => {
  const COUNT = 1_400;
  const MIDDLE = 'n700';

  async function fill(): Promise<Bench> {
    const bench = new Bench({}, redis);
    await bench.queue.enqueueMany(
      Array.from({ length: COUNT }, (_, n) => ({ name: 'ok', payload: n, options: { id: `n${n}` } })),
    );
    return bench;
  }

  test('becomes a hole, which counts know and workers skip', async () => {
    const bench = await fill();
    for (const id of [MIDDLE, 'n701', 'n3', 'n1398']) expect(await bench.queue.cancel(id)).toBe(true);
    expect(await redis.llen(bench.keys.priorityKeys(3)[3]!)).toBe(COUNT - 2);
    await bench.expectCounts({ ready: COUNT - 4, cancelled: 4 });
    const ran = await runAll(bench, COUNT - 4);
    expect(ran).toHaveLength(COUNT - 4);
    expect(ran).not.toContain(MIDDLE);
    await bench.expectCounts({ succeeded: 1_000, cancelled: 4 });
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
  });

  test.each([
    ['in the same priority', {}],
    ['in another priority', { priority: 'high' }],
    ['with a delay', { delayMs: 1 }],
    ['with a group', { group: 'g' }],
  ])('removed and enqueued again %s, it is run once', async (_, options) => {
    const bench = await fill();
    expect(await bench.queue.remove(MIDDLE)).toBe(true);
    expect(await redis.hget(bench.keys.of.tombstones, encodeTaskId(MIDDLE))).toBe('1');
    expect(await bench.queue.enqueue('ok', 'again', { id: MIDDLE, ...options })).toMatchObject({
      isDuplicate: false,
    });
    await until(async () => (await bench.queue.counts()).ready === COUNT);
    const ran = await runAll(bench, COUNT);
    expect(ran).toHaveLength(COUNT);
    expect(new Set(ran).size).toBe(COUNT);
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
  });

  test('removed and enqueued again and again, it is run once', async () => {
    const bench = await fill();
    const more = (n: number): Promise<unknown> =>
      bench.queue.enqueueMany(
        Array.from({ length: 600 }, (_, m) => ({ name: 'ok', payload: m, options: { id: `m${n}-${m}` } })),
      );
    for (let n = 0; n < 3; n += 1) {
      expect(await bench.queue.remove(MIDDLE)).toBe(true);
      await bench.queue.enqueue('ok', n, { id: MIDDLE });
      await more(n);
    }
    expect(await redis.hget(bench.keys.of.tombstones, encodeTaskId(MIDDLE))).toBe('111');
    const total = COUNT + 1_800;
    await bench.expectCounts({ ready: total });
    const ran = await runAll(bench, total);
    expect(ran.filter((id) => id === MIDDLE)).toHaveLength(1);
    expect(ran).toHaveLength(total);
    // Where it stands now: behind those of the second round.
    expect(ran.indexOf(MIDDLE)).toBe(COUNT - 1 + 1_200);
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
  });

  test('a tombstone next to a new entry of the same id', async () => {
    const bench = await fill();
    await bench.queue.remove(MIDDLE);
    await bench.queue.enqueue('ok', 'again', { id: MIDDLE });
    // Now both entries are within what a worker takes at once.
    const between = Array.from({ length: 450 }, (_, n) => `n${1_399 - n}`);
    await Promise.all(between.map((id) => bench.queue.cancel(id)));
    await Promise.all(Array.from({ length: 500 }, (_, n) => bench.queue.cancel(`n${n}`)));
    const ran: string[] = [];
    const handlers = { ok: (_: unknown, { id }: { id: string }) => void ran.push(id) };
    await launch(redis, 'q', handlers, { prefix: bench.prefix, concurrency: 2_000 });
    await until(async () => (await bench.queue.counts()).ready === 0);
    await until(() => ran.length === COUNT - 950);
    expect(ran).toContain(MIDDLE);
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
  });
});
