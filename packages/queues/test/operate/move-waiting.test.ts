/** Tasks that wait are moved to another time, or to another priority. */
import { describe, expect, test } from '@jest/globals';
import type { TaskState } from '@mortise/queues';
import { Bench } from '../fixture/bench.js';
import { counted, reached } from '../fixture/until.js';

const HOUR_MS = 3_600_000;
const PRIORITIES = ['high', 'low'];

/** The tasks that are ready, in the order of their fetch. */
async function readyOf({ queue }: Bench): Promise<string[]> {
  return (await queue.list('ready', { limit: 100 })).tasks.map(({ id }) => id);
}

describe('reschedule', () => {
  test.each<[TaskState, TaskState]>([
    ['ready', 'scheduled'],
    ['scheduled', 'scheduled'],
    ['retrying', 'retrying'],
  ])('a %s task gets a new time and is %s', async (from, to) => {
    const bench = new Bench();
    if (from === 'retrying') await bench.work();
    const id = await bench.task(from);
    const before = Date.now();
    expect(await bench.queue.reschedule(id, { delayMs: 2 * HOUR_MS })).toBe(true);
    const { state, runAt, attempt } = (await bench.queue.get(id))!;
    expect([state, attempt]).toEqual([to, from === 'retrying' ? 1 : 0]);
    expect(runAt! - before).toBeGreaterThan(2 * HOUR_MS - 1_000);
    expect(runAt! - before).toBeLessThan(2 * HOUR_MS + 60_000);
    await bench.expectCounts({ [to]: 1 });
    const at = Date.now() + 3 * HOUR_MS;
    expect(await bench.queue.reschedule(id, { runAt: new Date(at) })).toBe(true);
    expect((await bench.queue.get(id))!.runAt).toBe(at);
  });

  test('to now, a task runs, also a retrying one with its attempts counted', async () => {
    const bench = new Bench();
    await bench.work();
    const scheduled = await bench.task('scheduled');
    expect(await bench.queue.reschedule(scheduled, { delayMs: 0 })).toBe(true);
    await reached(bench.queue, scheduled, 'succeeded');
    const retrying = await bench.task('retrying');
    expect(await bench.queue.reschedule(retrying, { runAt: Date.now() })).toBe(true);
    await reached(bench.queue, retrying, 'retrying');
    await counted(bench.queue, { retrying: 1, succeeded: 1 });
    expect((await bench.queue.get(retrying))!.attempt).toBe(2);
  });

  test('a worker that waits for a later task starts an earlier one in time', async () => {
    const bench = new Bench();
    await bench.work();
    const id = await bench.task('scheduled');
    await bench.task('scheduled');
    await bench.queue.reschedule(id, { delayMs: 150 });
    const startedAt = Date.now();
    await reached(bench.queue, id, 'succeeded');
    expect(Date.now() - startedAt).toBeLessThan(5_000);
  });

  test('a ready task from the middle of a long list runs once, at its new time', async () => {
    const bench = new Bench();
    const ids = Array.from({ length: 500 }, (_, index) => `t${index}`);
    await bench.queue.enqueueMany(ids.map((id) => ({ name: 'ok', payload: id, options: { id } })));
    expect(await bench.queue.reschedule('t250', { delayMs: HOUR_MS })).toBe(true);
    await bench.expectCounts({ ready: 499, scheduled: 1 });
    await bench.work();
    await counted(bench.queue, { ready: 0, active: 0 });
    await bench.expectCounts({ succeeded: 499, scheduled: 1 });
    expect(await bench.queue.promote('t250')).toBe(true);
    await counted(bench.queue, { succeeded: 500 });
  });

  test('a task of a group leaves its group until then', async () => {
    const bench = new Bench();
    await bench.queue.configure({ groups: { concurrency: 1 } });
    for (const id of ['a', 'b']) await bench.task('ready', id, { group: 'g' });
    expect(await bench.queue.reschedule('a', { delayMs: HOUR_MS })).toBe(true);
    await bench.expectCounts({ ready: 1, scheduled: 1 });
    await bench.work();
    await reached(bench.queue, 'b', 'succeeded');
    await bench.queue.reschedule('a', { delayMs: 0 });
    await reached(bench.queue, 'a', 'succeeded');
    await counted(bench.queue, { succeeded: 2 });
  });

  test('a retried task that waits for its group keeps its attempts', async () => {
    const bench = new Bench();
    await bench.queue.configure({ groups: { concurrency: 1 } });
    await bench.work();
    await bench.queue.enqueue('fail', 1, {
      id: 'a',
      group: 'g',
      attempts: 2,
      backoff: { type: 'fixed', delayMs: HOUR_MS, jitter: 0 },
    });
    await reached(bench.queue, 'a', 'retrying');
    await bench.task('active', 'b', { group: 'g' });
    await bench.queue.promote('a');
    // Due, it waits for its group.
    await counted(bench.queue, { ready: 1, active: 1 });
    expect(await bench.queue.reschedule('a', { delayMs: HOUR_MS })).toBe(true);
    expect(await bench.queue.get('a')).toMatchObject({ state: 'retrying', attempt: 1 });
    await bench.expectCounts({ retrying: 1, active: 1 });
    await bench.queue.cancel('b');
    await bench.queue.promote('a');
    await reached(bench.queue, 'a', 'dead');
    expect((await bench.queue.get('a'))!.attempt).toBe(2);
  });

  test('is false for tasks that run or have ended, and for an unknown one', async () => {
    const bench = new Bench();
    await bench.work();
    for (const state of ['active', 'succeeded', 'dead', 'cancelled'] as const) {
      const id = await bench.task(state);
      expect([state, await bench.queue.reschedule(id, { delayMs: 1 })]).toEqual([state, false]);
      expect(await bench.queue.get(id)).toMatchObject({ state });
    }
    expect(await bench.queue.reschedule('nobody', { delayMs: 1 })).toBe(false);
  });

  test.each([
    [{}, 'ERR_INVALID_ARG'],
    [{ delayMs: 1, runAt: 1 }, 'ERR_INVALID_ARG'],
    [{ delayMs: -1 }, 'ERR_INVALID_ARG'],
    [{ delay: 1 }, 'ERR_INVALID_ARG'],
    [{ runAt: 1_000 }, 'ERR_RUN_AT_PAST'],
  ] as [object, string][])('with %j is refused with %s', async (options, code) => {
    const { queue } = new Bench();
    await expect(queue.reschedule('a', options)).rejects.toMatchObject({ code });
  });
});

describe('setPriority', () => {
  test('moves a ready task behind those of the new priority', async () => {
    const bench = new Bench({ priorities: PRIORITIES });
    for (const id of ['a', 'b', 'c']) await bench.task('ready', id, { priority: 'low' });
    await bench.task('ready', 'urgent', { priority: 'high' });
    expect(await bench.queue.setPriority('b', 'high')).toBe(true);
    expect(await readyOf(bench)).toEqual(['urgent', 'b', 'a', 'c']);
    expect((await bench.queue.get('b'))!.priority).toBe('high');
    // Back again: it is the last one now.
    expect(await bench.queue.setPriority('b', 'low')).toBe(true);
    expect(await readyOf(bench)).toEqual(['urgent', 'a', 'c', 'b']);
    await bench.work();
    await counted(bench.queue, { succeeded: 4 });
    await bench.expectCounts({ succeeded: 4 });
  });

  test('a task with this priority stays where it is', async () => {
    const bench = new Bench({ priorities: PRIORITIES });
    for (const id of ['a', 'b']) await bench.task('ready', id, { priority: 'low' });
    expect(await bench.queue.setPriority('a', 'low')).toBe(true);
    expect(await readyOf(bench)).toEqual(['a', 'b']);
  });

  test.each<TaskState>(['scheduled', 'retrying'])('a %s task has it when it is due', async (state) => {
    const bench = new Bench({ priorities: PRIORITIES });
    if (state === 'retrying') await bench.work();
    const id = await bench.task(state, 'late', { priority: 'low' });
    const { runAt } = (await bench.queue.get(id))!;
    expect(await bench.queue.setPriority(id, 'high')).toBe(true);
    expect(await bench.queue.get(id)).toMatchObject({ state, runAt, priority: 'high' });
    await bench.expectCounts({ [state]: 1 });
  });

  test('a task in a group moves within it, and waits for its children elsewhere', async () => {
    const bench = new Bench({ priorities: PRIORITIES });
    await bench.queue.configure({ groups: { concurrency: 1 } });
    for (const id of ['a', 'b', 'c']) await bench.task('ready', id, { priority: 'low', group: 'g' });
    expect(await bench.queue.setPriority('c', 'high')).toBe(true);
    expect(await readyOf(bench)).toEqual(['c', 'a', 'b']);
    await bench.expectCounts({ ready: 3 });
    const { id } = await bench.queue.enqueueFlow({
      name: 'ok',
      payload: 1,
      options: { priority: 'low' },
      children: [{ name: 'ok', payload: 2, options: { priority: 'low' } }],
    });
    expect(await bench.queue.setPriority(id, 'high')).toBe(true);
    expect(await bench.queue.get(id)).toMatchObject({ state: 'waiting', priority: 'high' });
    await bench.work();
    await counted(bench.queue, { succeeded: 5 });
  });

  test('in the middle of a long list nothing is lost and nothing runs twice', async () => {
    const bench = new Bench({ priorities: PRIORITIES });
    const ids = Array.from({ length: 500 }, (_, index) => `t${index}`);
    await bench.queue.enqueueMany(
      ids.map((id) => ({ name: 'ok', payload: id, options: { id, priority: 'low' } })),
    );
    for (const priority of ['high', 'low', 'high']) await bench.queue.setPriority('t250', priority);
    await bench.expectCounts({ ready: 500 });
    expect((await readyOf(bench))[0]).toBe('t250');
    const ran: string[] = [];
    await bench.launch({ ok: (_: unknown, { id }: { id: string }) => void ran.push(id) });
    await counted(bench.queue, { succeeded: 500 });
    expect(ran.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test('is false for tasks that run or have ended; an unknown priority is refused', async () => {
    const bench = new Bench({ priorities: PRIORITIES });
    await bench.work();
    for (const state of ['active', 'succeeded', 'dead', 'cancelled'] as const) {
      const id = await bench.task(state);
      expect([state, await bench.queue.setPriority(id, 'high')]).toEqual([state, false]);
    }
    expect(await bench.queue.setPriority('nobody', 'high')).toBe(false);
    await expect(bench.queue.setPriority('nobody', 'urgent')).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG',
    });
  });
});

test('both are events; lastEvents has the last ones, the oldest first', async () => {
  const bench = new Bench({ priorities: PRIORITIES });
  expect(await bench.queue.lastEvents()).toEqual([]);
  const id = await bench.task('ready', 'a', { priority: 'low' });
  await bench.queue.setPriority(id, 'high');
  await bench.queue.reschedule(id, { delayMs: HOUR_MS });
  await bench.queue.reschedule(id, { delayMs: 0 });
  const shown = (await bench.queue.lastEvents()).map((event) => [event.type, event.id]);
  expect(shown).toEqual([
    ['enqueued', 'a'],
    ['reprioritized', 'a'],
    ['rescheduled', 'a'],
    ['ready', 'a'],
  ]);
  expect((await bench.queue.lastEvents({ limit: 2 })).map(({ type }) => type)).toEqual([
    'rescheduled',
    'ready',
  ]);
  await expect(bench.queue.lastEvents({ limit: 0 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
});
