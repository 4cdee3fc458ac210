import { describe, expect, test } from '@jest/globals';
import { Queue, TaskActiveError, TaskCancelledError } from '@mortise/queues';
import type { QueueEvent, TaskState } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import { encodeTaskId } from '../../src/task/task-id.js';
import { age } from '../fixture/age.js';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { launch } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';
import { counted, reached, until } from '../fixture/until.js';

/** The ids of the tasks that a worker runs, in order. */
async function runAll(bench: Bench, count: number): Promise<string[]> {
  const ran: string[] = [];
  const handlers = { ok: (_: unknown, { id }: { id: string }) => void ran.push(id) };
  const worker = await bench.launch(handlers, { concurrency: 100 });
  await until(() => ran.length >= count);
  await counted(bench.queue, { ready: 0 });
  await worker.stop();
  return ran;
}

describe('an operator', () => {
  test.each([
    ['cancel', ['succeeded', 'dead', 'cancelled']],
    ['retry', ['scheduled', 'active', 'succeeded', 'ready']],
    ['promote', ['active', 'succeeded', 'dead', 'cancelled', 'ready']],
  ] as const)('%s is false for an unknown task and for tasks that are %j', async (operation, states) => {
    const bench = new Bench();
    await bench.work();
    for (const state of states) {
      // From then on nothing is fetched.
      if (state === 'ready') await bench.queue.pause();
      const id = await bench.task(state);
      expect(await bench.queue[operation](id)).toBe(false);
      expect(await bench.queue.get(id)).toMatchObject({ state });
    }
    expect(await bench.queue[operation]('nobody')).toBe(false);
    await bench.expectCounts(Object.fromEntries(states.map((state) => [state, 1])));
  });

  test.each([
    ['cancel', 'ready', 'cancelled'],
    ['promote', 'scheduled', 'ready'],
  ] as const)('%s of a %s task: of concurrent calls one resolves to true', async (operation, from, to) => {
    const bench = new Bench();
    const id = await bench.task(from);
    const other = new Queue(connect(), 'q', { prefix: bench.prefix });
    const answers = await Promise.all([bench.queue, bench.queue, other].map((queue) => queue[operation](id)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    await bench.expectCounts({ [to]: 1 });
  });
});

describe('cancel', () => {
  test.each<TaskState>(['ready', 'scheduled', 'retrying'])('a %s task is not run', async (state) => {
    const bench = new Bench();
    if (state === 'retrying') await bench.work();
    const id = await bench.task(state);
    expect(await bench.queue.cancel(id, { reason: 'changed our mind' })).toBe(true);
    expect(await bench.queue.get(id)).toMatchObject({
      state: 'cancelled',
      error: { name: 'TaskCancelledError', code: 'ERR_TASK_CANCELLED', message: 'changed our mind' },
      attempt: state === 'retrying' ? 1 : 0,
      finishedAt: expect.any(Number),
    });
    await bench.expectCounts({ cancelled: 1 });
    if (state !== 'retrying') await bench.work();
    await bench.task('succeeded');
    await bench.expectCounts({ cancelled: 1, succeeded: 1 });
  });

  test('a task that has fallen due meanwhile, with and without a group', async () => {
    const bench = new Bench();
    for (const [id, group] of [['a'], ['b', 'g'], ['c', 'g']] as const) {
      await bench.task('ready', id, { delayMs: 1, ...(group !== undefined && { group }) });
    }
    await counted(bench.queue, { ready: 3 });
    expect(await bench.queue.promote('a')).toBe(false);
    expect(await Promise.all(['a', 'b'].map((id) => bench.queue.cancel(id)))).toEqual([true, true]);
    await bench.expectCounts({ ready: 1, cancelled: 2 });
    expect(await runAll(bench, 1)).toEqual(['c']);
  });

  test('a task with a group', async () => {
    const bench = new Bench();
    for (const id of ['a', 'b', 'c']) await bench.task('ready', id, { group: 'g' });
    expect(await bench.queue.cancel('b')).toBe(true);
    expect(await bench.queue.cancel('a')).toBe(true);
    await bench.expectCounts({ ready: 1, cancelled: 2 });
    expect(await runAll(bench, 1)).toEqual(['c']);
    expect(await redis.exists(bench.keys.of.grouped, bench.keys.of.runnableGroups)).toBe(0);
  });

  test.each(['active', 'retrying'] as const)('a %s task lets go of its ordered group', async (state) => {
    const bench = new Bench();
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.work();
    await bench.task(state, 'a', { group: 'g' });
    await bench.queue.enqueue('ok', 1, { id: 'b', group: 'g' });
    await bench.expectCounts({ [state]: 1, ready: 1 });
    expect(await bench.queue.cancel('a')).toBe(true);
    await reached(bench.queue, 'b', 'succeeded');
  });

  test('a running task: its signal is aborted, and its completion is refused', async () => {
    const bench = new Bench();
    await bench.work();
    const id = await bench.task('active');
    await until(() => bench.hanging.has(id));
    expect(await bench.queue.cancel(id, { reason: 'stop' })).toBe(true);
    await bench.expectCounts({ cancelled: 1 });
    await until(() => bench.hanging.get(id)!.signal.aborted);
    expect(bench.hanging.get(id)!.signal.reason).toBeInstanceOf(TaskCancelledError);
    expect(await bench.queue.get(id)).toMatchObject({
      state: 'cancelled',
      attempt: 1,
      error: { message: 'stop' },
    });
    // The slot is free again.
    await bench.task('succeeded');
    await bench.expectCounts({ cancelled: 1, succeeded: 1 });
  });

  test('a handler that takes no notice does not succeed', async () => {
    const bench = new Bench();
    const door = gate();
    const handlers = { ok: () => door.passed };
    await bench.launch(handlers, { onError: () => undefined });
    await bench.queue.enqueue('ok', 1, { id: 'a' });
    await counted(bench.queue, { active: 1 });
    const cancelling = bench.queue.cancel('a');
    door.open();
    const isCancelled = await cancelling;
    await counted(bench.queue, { active: 0 });
    const { state } = (await bench.queue.get('a'))!;
    // The one or the other, and the caller knows which.
    expect(state).toBe(isCancelled ? 'cancelled' : 'succeeded');
  });

  test('ids of any form', async () => {
    const bench = new Bench();
    for (const id of HOSTILE_IDS) await bench.task('ready', id);
    for (const id of HOSTILE_IDS) expect(await bench.queue.cancel(id)).toBe(true);
    for (const id of HOSTILE_IDS)
      expect(await bench.queue.get(id)).toMatchObject({ state: 'cancelled', payload: id });
    await bench.expectCounts({ cancelled: HOSTILE_IDS.length });
  });

  test('keeps the latest keepCancelled tasks', async () => {
    const bench = new Bench({ keepCancelled: 3 });
    for (let n = 0; n < 5; n += 1) await bench.task('cancelled', `n${n}`);
    await bench.expectCounts({ cancelled: 3 });
    const kept = [];
    for (let n = 0; n < 5; n += 1) if (await bench.queue.get(`n${n}`)) kept.push(n);
    expect(kept).toHaveLength(3);
    expect(await redis.hlen(bench.keys.of.attempts)).toBe(3);
  });

  test('refuses a reason that is none', async () => {
    const { queue } = new Bench();
    await expect(queue.cancel('a', { reason: 7 as never })).rejects.toThrow(TypeError);
    await expect(queue.cancel('a', { reason: 'x'.repeat(1_025) })).rejects.toThrow(RangeError);
    await expect(queue.cancel('')).rejects.toThrow(RangeError);
  });
});

describe('a task in the middle of a long list', () => {
  const COUNT = 1_400;
  const MIDDLE = 'n700';

  async function fill(): Promise<Bench> {
    const bench = new Bench();
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
    await counted(bench.queue, { ready: COUNT });
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
    // Its place now: after those of the second round.
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
    await bench.launch(handlers, { concurrency: 2_000 });
    await counted(bench.queue, { ready: 0 });
    await until(() => ran.length === COUNT - 950);
    expect(ran).toContain(MIDDLE);
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
  });
});

describe('remove', () => {
  test.each<TaskState>(['ready', 'scheduled', 'retrying', 'succeeded', 'dead', 'cancelled'])(
    'a %s task leaves nothing behind',
    async (state) => {
      const bench = new Bench();
      if (state !== 'ready') await bench.work();
      const id = await bench.task(state);
      expect(await bench.queue.remove(id)).toBe(true);
      expect(await bench.queue.get(id)).toBeNull();
      await bench.expectCounts({});
      expect(await bench.keysLeft()).toEqual([]);
      expect(await bench.queue.remove(id)).toBe(false);
    },
  );

  test('a task with a group, ready or holding it', async () => {
    const bench = new Bench();
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.task('ready', 'a', { group: 'g' });
    await bench.queue.remove('a');
    expect(await bench.keysLeft()).toEqual(['groups']);
    await bench.work();
    await bench.task('retrying', 'b', { group: 'g' });
    await bench.queue.enqueue('ok', 1, { id: 'c', group: 'g' });
    expect(await bench.queue.remove('b')).toBe(true);
    await reached(bench.queue, 'c', 'succeeded');
  });

  test('a running task is refused, and runs on', async () => {
    const bench = new Bench();
    await bench.work();
    const id = await bench.task('active');
    const refusal: unknown = await bench.queue.remove(id).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TaskActiveError);
    expect(refusal).toMatchObject({ code: 'ERR_TASK_ACTIVE', queue: 'q', taskId: id });
    await bench.expectCounts({ active: 1 });
    expect(bench.hanging.get(id)!.signal.aborted).toBe(false);
  });

  test('in one tick each caller gets its own answer', async () => {
    const bench = new Bench();
    await bench.work();
    const active = await bench.task('active');
    const scheduled = await bench.task('scheduled');
    const answers = await Promise.allSettled(
      ['nobody', active, scheduled, scheduled].map((id) => bench.queue.remove(id)),
    );
    expect(answers).toMatchObject([
      { value: false },
      { status: 'rejected' },
      { value: true },
      { value: false },
    ]);
  });

  test('an id that was remembered can be used again', async () => {
    const bench = new Bench();
    await bench.queue.enqueue('ok', 1, { id: 'a', dedupMs: 60_000 });
    await bench.queue.remove('a');
    expect(await bench.queue.enqueue('ok', 2, { id: 'a' })).toMatchObject({ isDuplicate: false });
    expect(await bench.queue.get('a')).toMatchObject({ payload: 2 });
  });

  test('ids of any form, progress and logs too', async () => {
    const bench = new Bench();
    await bench.work();
    for (const id of HOSTILE_IDS) {
      await bench.task('active', id);
      await until(() => bench.hanging.has(id));
      await bench.hanging.get(id)!.progress({ done: 1 });
      await bench.hanging.get(id)!.log('a line');
    }
    expect(await bench.queue.get('}x')).toMatchObject({ progress: { done: 1 }, logs: [{ text: 'a line' }] });
    for (const id of HOSTILE_IDS) await bench.queue.cancel(id);
    for (const id of HOSTILE_IDS) expect(await bench.queue.remove(id)).toBe(true);
    expect(await bench.keysLeft()).toEqual([]);
  });

  test('leaves no tombstones where tasks come and go at the ends of a long list', async () => {
    const bench = new Bench();
    await bench.queue.enqueueMany(Array.from({ length: 1_200 }, (_, n) => ({ name: 'ok', payload: n })));
    for (let n = 0; n < 20; n += 1) {
      await bench.task('ready', 'debounced');
      await bench.queue.remove('debounced');
    }
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
    await bench.expectCounts({ ready: 1_200 });
  });

  test('finds a task of a queue with shards whose group decides where it lies', async () => {
    const bench = new Bench({ shards: 4 });
    const ids = Array.from({ length: 20 }, (_, n) => `n${n}`);
    for (const id of ids) await bench.task('ready', id, { group: `g${id}` });
    const other = new Queue(redis, 'q', { prefix: bench.prefix });
    for (const id of ids) expect(await other.remove(id)).toBe(true);
    await bench.expectCounts({});
    expect(await other.remove('n0')).toBe(false);
  });
});

/** Dead tasks, as those that failed all their attempts. */
async function dead(bench: Bench, ids: readonly string[], name = 't'): Promise<void> {
  const worker = await bench.launch(
    {
      [name]: () => {
        throw new Error('broken');
      },
    },
    { backoff: { delayMs: 0 } },
  );
  const before = (await bench.queue.counts()).dead;
  await bench.queue.enqueueMany(
    ids.map((id) => ({ name, payload: id, options: { id, attempts: 2, priority: 'low' } })),
  );
  await counted(bench.queue, { dead: before + ids.length });
  await worker.stop();
}

describe('retry', () => {
  test('a dead task has all its attempts again', async () => {
    const bench = new Bench();
    await dead(bench, ['a']);
    const before = (await bench.queue.get('a'))!;
    expect(before).toMatchObject({ state: 'dead', attempt: 2 });
    expect(await bench.queue.retry('a')).toBe(true);
    const after = (await bench.queue.get('a'))!;
    expect(after).toMatchObject({ state: 'ready', attempt: 0, attempts: 2, priority: 'low', payload: 'a' });
    expect(after.error).toMatchObject({ message: 'broken' });
    expect(after.enqueuedAt).toBeGreaterThan(before.enqueuedAt);
    await bench.expectCounts({ ready: 1 });
    const attempts: number[] = [];
    await bench.launch(
      {
        t: (_, { attempt }) => {
          attempts.push(attempt);
          throw new Error('still broken');
        },
      },
      { backoff: { delayMs: 0 } },
    );
    await reached(bench.queue, 'a', 'dead');
    expect(attempts).toEqual([1, 2]);
  });

  test('a cancelled task, waiting or with a group', async () => {
    const bench = new Bench();
    for (const [id, options] of [
      ['a', {}],
      ['b', { group: 'g' }],
      ['c', { delayMs: 60_000 }],
    ] as const) {
      await bench.task('ready', id, options);
      await bench.queue.cancel(id);
      expect(await bench.queue.retry(id)).toBe(true);
      expect(await bench.queue.get(id)).toMatchObject({ state: 'ready', attempt: 0 });
    }
    await bench.expectCounts({ ready: 3 });
    await bench.work();
    await counted(bench.queue, { succeeded: 3 });
    expect(await bench.keysLeft()).toEqual(['attempts', 'groups', 'succeeded', 'tasks']);
  });

  test('a task that was running when it was cancelled', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('active', 'a');
    const first = await until(() => bench.hanging.get('a'));
    await bench.queue.cancel('a');
    expect(await bench.queue.retry('a')).toBe(true);
    await until(() => bench.hanging.get('a') !== first);
    expect(await bench.queue.get('a')).toMatchObject({ state: 'active', attempt: 1 });
    // Later calls of the first one no longer count.
    expect(bench.hanging.get('a')!.signal.aborted).toBe(false);
  });

  test('a task that expired has its time again', async () => {
    const bench = new Bench();
    await bench.task('ready', 'a', { expiresInMs: 3_600_000 });
    await age(redis, bench.keys, 'a', 3_600_001);
    await bench.work();
    await reached(bench.queue, 'a', 'dead');
    expect(await bench.queue.retry('a')).toBe(true);
    await reached(bench.queue, 'a', 'succeeded');
  });

  test('a retrying task runs now, and its attempts stay counted', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('retrying', 'a');
    expect(await bench.queue.retry('a')).toBe(true);
    await until(async () => (await bench.queue.get('a'))?.attempt === 2);
  });

  test('of two concurrent calls one resolves to true, and it runs once', async () => {
    const bench = new Bench();
    await dead(bench, HOSTILE_IDS);
    const answers = await Promise.all(
      HOSTILE_IDS.flatMap((id) => [bench.queue.retry(id), bench.queue.retry(id)]),
    );
    expect(answers.filter(Boolean)).toHaveLength(HOSTILE_IDS.length);
    await bench.expectCounts({ ready: HOSTILE_IDS.length });
    const ran: string[] = [];
    await launch(connect(), 'q', { t: (id) => void ran.push(id as string) }, { prefix: bench.prefix });
    await counted(bench.queue, { succeeded: HOSTILE_IDS.length });
    expect(ran.toSorted()).toEqual(HOSTILE_IDS.toSorted());
  });

  test('wakes an idle worker', async () => {
    const bench = new Bench();
    await bench.work();
    const id = await bench.task('dead');
    const { finishedAt } = (await bench.queue.get(id))!;
    await until(async () => (await redis.zcard(bench.keys.of.idle)) === 1);
    await bench.queue.retry(id);
    const later = async (): Promise<boolean> => ((await bench.queue.get(id))?.finishedAt ?? 0) > finishedAt!;
    // Sooner than it would look by itself.
    await expect(until(later, 2_500)).resolves.toBe(true);
  });
});

test('promote: a scheduled task, also one with a group, or a retrying one is due now', async () => {
  const bench = new Bench();
  await bench.work();
  await bench.task('scheduled', 'a');
  await bench.task('scheduled', 'b', { group: 'g' });
  await bench.task('retrying', 'c');
  for (const id of ['a', 'b', 'c']) expect(await bench.queue.promote(id)).toBe(true);
  for (const id of ['a', 'b']) await reached(bench.queue, id, 'succeeded');
  await until(async () => (await bench.queue.get('c'))?.attempt === 2);
});

describe('retryAll', () => {
  const ids = (from: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${from}${n}`);

  test('all dead tasks, over several calls', async () => {
    const bench = new Bench();
    await dead(bench, ids('n', 1_100));
    expect(await bench.queue.retryAll()).toBe(1_100);
    await bench.expectCounts({ ready: 1_100 });
    expect(await bench.queue.retryAll()).toBe(0);
  });

  test('of one name, and up to a limit', async () => {
    const bench = new Bench();
    await dead(bench, ids('s', 600), 'some');
    await dead(bench, ids('o', 700), 'other');
    expect(await bench.queue.retryAll({ name: 'nobody' })).toBe(0);
    expect(await bench.queue.retryAll({ name: 'some' })).toBe(600);
    await bench.expectCounts({ ready: 600, dead: 700 });
    expect(await bench.queue.retryAll({ limit: 50 })).toBe(50);
    await bench.expectCounts({ ready: 650, dead: 650 });
  });

  test('all cancelled ones, in all shards', async () => {
    const bench = new Bench({ shards: 3 });
    for (const id of ids('n', 30)) await bench.task('cancelled', id);
    expect(await bench.queue.retryAll({ state: 'cancelled' })).toBe(30);
    await bench.expectCounts({ ready: 30 });
  });

  test('those that die again meanwhile are left', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.queue.enqueueMany(
      ids('n', 1_500).map((id) => ({ name: 'die', payload: 0, options: { id } })),
    );
    await counted(bench.queue, { dead: 1_500 });
    expect(await bench.queue.retryAll()).toBe(1_500);
    await counted(bench.queue, { dead: 1_500 });
  });

  test('refuses other states and limits', async () => {
    const { queue } = new Bench();
    await expect(queue.retryAll({ state: 'succeeded' as never })).rejects.toThrow(RangeError);
    for (const limit of [0, -1, 1.5, Number.NaN])
      await expect(queue.retryAll({ limit })).rejects.toThrow(RangeError);
  });
});

test('every call of an operator has its events', async () => {
  const bench = new Bench();
  const { queue } = bench;
  await queue.configure({ keepEvents: 1_000 });
  const stop = new AbortController();
  const seen: QueueEvent[] = [];
  const reading = (async () => {
    for await (const event of queue.events({ after: 'oldest', signal: stop.signal })) seen.push(event);
  })().catch(() => undefined);
  await bench.task('scheduled', 'a');
  await bench.task('scheduled', 'b');
  await bench.task('ready', 'c');
  await queue.promote('a');
  await queue.cancel('b', { reason: 'sold out' });
  await queue.retry('b');
  await queue.remove('c');
  expect(await queue.drain()).toBe(2);
  // Calls without an effect have no events.
  await Promise.all(
    ['a', 'b', 'c'].flatMap((id) => [queue.cancel(id), queue.remove(id), queue.retry(id), queue.promote(id)]),
  );
  await bench.task('scheduled', 'last');
  await until(() => seen.some(({ id }) => id === 'last'));
  stop.abort();
  await reading;
  expect(seen.map(({ type, id, error }) => [type, id, error?.message].filter(Boolean).join(' '))).toEqual([
    'enqueued a',
    'enqueued b',
    'enqueued c',
    'ready a',
    'cancelled b sold out',
    'ready b',
    'removed c',
    'removed a',
    'removed b',
    'enqueued last',
  ]);
});
