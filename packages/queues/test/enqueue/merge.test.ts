/** Enqueues under a `dedupKey`, and payloads of waiting tasks that are replaced. */
import { describe, expect, test } from '@jest/globals';
import type { KeyedEnqueueOptions, OnDuplicate, TaskState } from '@mortise/queues';
import { Bench } from '../fixture/bench.js';
import { redis } from '../fixture/new-queue.js';
import { counted, reached } from '../fixture/until.js';

const HOUR_MS = 3_600_000;
/** How exactly an instant is known that Redis sets. */
const NEAR_MS = 5_000;

const keyed = (onDuplicate: OnDuplicate, delayMs = 0): KeyedEnqueueOptions => ({
  dedupKey: 'k',
  onDuplicate,
  delayMs,
});

async function payloads(bench: Bench, state: TaskState = 'ready'): Promise<unknown[]> {
  return (await bench.queue.list(state, { limit: 100 })).tasks.map(({ payload }) => payload);
}

async function hoursOf(bench: Bench, id: string): Promise<number> {
  const { state, runAt = Date.now() } = (await bench.queue.get(id))!;
  if (state === 'ready') return 0;
  const hours = Math.round((runAt - Date.now()) / HOUR_MS);
  expect(Math.abs(runAt - Date.now() - hours * HOUR_MS)).toBeLessThan(NEAR_MS);
  return hours;
}

describe('enqueue with a dedupKey', () => {
  test.each<[OnDuplicate, number, number, number, number]>([
    ['keep', 2, 1, 1, 2],
    ['keep', 0, 5, 1, 0],
    ['replace', 2, 1, 2, 2],
    ['replace', 0, 5, 2, 0],
    ['earliest', 2, 1, 2, 1],
    ['earliest', 1, 2, 2, 1],
    ['earliest', 2, 0, 2, 0],
    ['earliest', 0, 2, 2, 0],
    ['latest', 2, 1, 2, 2],
    ['latest', 1, 2, 2, 2],
    ['latest', 0, 2, 2, 2],
    ['latest', 0, 0, 2, 0],
  ])(
    '%s: after %i and %i hours the task has payload %i and runs after %i',
    async (mode, a, b, payload, hours) => {
      for (const group of [undefined, 'g']) {
        const bench = new Bench();
        const first = await bench.queue.enqueue('ok', 1, { ...keyed(mode, a * HOUR_MS), group });
        const second = await bench.queue.enqueue('ok', 2, { ...keyed(mode, b * HOUR_MS), group });
        expect([first.isDuplicate, second]).toEqual([false, { id: first.id, isDuplicate: true }]);
        expect((await bench.queue.get(first.id))!.payload).toBe(payload);
        expect(await hoursOf(bench, first.id)).toBe(hours);
        await bench.expectCounts({ [hours === 0 ? 'ready' : 'scheduled']: 1 });
        await bench.work();
        await bench.queue.promote(first.id);
        expect(await bench.queue.result(first.id)).toBe(payload);
      }
    },
  );

  test('append adds elements in order until the most, then the batch is due and another begins', async () => {
    const bench = new Bench();
    const options = { ...keyed('append', HOUR_MS), maxElements: 3 };
    const ids = await Promise.all(
      [[1], [], [2], [3, 4], [5, 6, 7]].map((payload) => bench.queue.enqueue('ok', payload, options)),
    );
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
    expect(await payloads(bench)).toEqual([
      [1, 2],
      [3, 4],
      [5, 6, 7],
    ]);
    const exact = await bench.queue.enqueue('ok', [], { ...options, dedupKey: 'other' });
    await bench.queue.enqueue('ok', ['a', 'b', 'c'], { ...options, dedupKey: 'other' });
    expect(await bench.queue.get(exact.id)).toMatchObject({ state: 'ready', payload: ['a', 'b', 'c'] });
  });

  test('append begins another batch when the payload would have more than maxPayloadBytes', async () => {
    const bench = new Bench({ maxPayloadBytes: 30 });
    for (const text of ['a', 'b', 'c']) {
      await bench.queue.enqueue('ok', [text.repeat(10)], keyed('append', HOUR_MS));
    }
    expect(await payloads(bench)).toEqual([['a'.repeat(10), 'b'.repeat(10)]]);
    expect(await payloads(bench, 'scheduled')).toEqual([['c'.repeat(10)]]);
  });

  test.each(['active', 'retrying', 'succeeded', 'dead', 'cancelled'] as const)(
    'a task that is %s has the key no longer',
    async (state) => {
      const bench = new Bench();
      await bench.work();
      const name = { active: 'hang', retrying: 'fail', succeeded: 'ok', dead: 'die', cancelled: 'ok' }[state];
      const options = {
        ...keyed('replace', state === 'cancelled' ? HOUR_MS : 0),
        backoff: { type: 'fixed', delayMs: HOUR_MS, jitter: 0 },
      } as const;
      const first = await bench.queue.enqueue(name, 1, options);
      if (state === 'cancelled') await bench.queue.cancel(first.id);
      await reached(bench.queue, first.id, state);
      await bench.queue.pause();
      const second = await bench.queue.enqueue(name, 2, { dedupKey: 'k', onDuplicate: 'replace' });
      expect([second.isDuplicate, second.id === first.id]).toEqual([false, false]);
      const third = await bench.queue.enqueue(name, 3, { dedupKey: 'k', onDuplicate: 'replace' });
      expect(third).toEqual({ id: second.id, isDuplicate: true });
      expect((await bench.queue.get(first.id))!.payload).toBe(1);
      expect((await bench.queue.get(second.id))!.payload).toBe(3);
    },
  );

  test('each group has keys of its own, and so has each name: another one is a conflict', async () => {
    const bench = new Bench();
    for (const group of [undefined, 'g', 'h']) {
      expect((await bench.queue.enqueue('ok', 1, { ...keyed('replace'), group })).isDuplicate).toBe(false);
    }
    await bench.expectCounts({ ready: 3 });
    await expect(bench.queue.enqueue('die', 1, keyed('replace'))).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
    await expect(bench.queue.enqueue('ok', [1], keyed('append'))).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
  });

  test('a full queue takes no new task, but a new payload', async () => {
    const bench = new Bench();
    await bench.queue.configure({ maxTasks: 1 });
    const { id } = await bench.queue.enqueue('ok', 1, keyed('replace'));
    expect(await bench.queue.enqueue('ok', 2, keyed('replace'))).toEqual({ id, isDuplicate: true });
    const other = bench.queue.enqueue('ok', 3, { dedupKey: 'other' });
    await expect(other).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  });

  test('wakes an idle worker, also for a time that became earlier', async () => {
    const bench = new Bench();
    await bench.work();
    const { id } = await bench.queue.enqueue('ok', 1, keyed('earliest', HOUR_MS));
    await counted(bench.queue, { scheduled: 1 });
    await bench.queue.enqueue('ok', 2, keyed('earliest', 50));
    expect(await bench.queue.result(id, { waitMs: 5_000 })).toBe(2);
  });

  test('a key of a queue with shards is found again', async () => {
    const bench = new Bench({ shards: 3 });
    for (const dedupKey of ['a', 'b', 'c', 'd', 'e']) {
      const { id } = await bench.queue.enqueue('ok', 1, { dedupKey });
      expect(await bench.queue.enqueue('ok', 1, { dedupKey })).toEqual({ id, isDuplicate: true });
      expect((await bench.queue.get(id))!.payload).toBe(1);
    }
    await bench.expectCounts({ ready: 5 });
  });

  test('the key goes away with the record of its task', async () => {
    const bench = new Bench();
    const ids = [];
    for (const dedupKey of ['a', 'b', 'c']) ids.push(await bench.queue.enqueue('ok', 1, { dedupKey }));
    await bench.queue.remove(ids[0]!.id);
    expect(await redis.hlen(bench.keys.of.dedupKeys)).toBe(4);
    await bench.work();
    await counted(bench.queue, { succeeded: 2 });
    await bench.queue.clean('succeeded');
    expect(await redis.exists(bench.keys.of.dedupKeys)).toBe(0);
    for (const dedupKey of ['a', 'a']) await bench.queue.enqueue('hang', 1, { dedupKey, delayMs: HOUR_MS });
    await bench.queue.drain({ scheduled: true });
    expect(await redis.exists(bench.keys.of.dedupKeys)).toBe(0);
  });

  test.each([
    [1, { dedupKey: '' }],
    [1, { dedupKey: 'k', id: 'a' }],
    [1, { dedupKey: 'k', onDuplicate: 'merge' }],
    [1, { dedupKey: 'k', onDuplicate: 'append' }],
    [[1, 2], { dedupKey: 'k', onDuplicate: 'append', maxElements: 1 }],
    [[1], { dedupKey: 'k', maxElements: 1 }],
    [1, { onDuplicate: 'replace' }],
  ])('the payload %j with %j is refused', async (payload, options) => {
    const { queue } = new Bench();
    await expect(queue.enqueue('ok', payload, options as KeyedEnqueueOptions)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG',
    });
  });

  test('enqueueMany takes no key', async () => {
    const { queue } = new Bench();
    const options = { dedupKey: 'k' } as object;
    await expect(queue.enqueueMany([{ name: 'ok', payload: 1, options }])).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG',
    });
  });

  test('many producers at once lose no element and exceed no batch', async () => {
    const bench = new Bench();
    const seen: number[][] = [];
    await bench.launch({ ok: (batch) => void seen.push(batch as number[]) }, { concurrency: 3 });
    const elements = Array.from({ length: 500 }, (_, index) => index);
    await Promise.all(
      elements.map((one) => bench.queue.enqueue('ok', [one], { ...keyed('append'), maxElements: 7 })),
    );
    await bench.queue.idle();
    expect(seen.flat().toSorted((a, b) => a - b)).toEqual(elements);
    expect(Math.max(...seen.map(({ length }) => length))).toBeLessThanOrEqual(7);
  });
});

describe('setPayload', () => {
  test.each(['ready', 'scheduled', 'retrying', 'dead', 'cancelled'] as const)(
    'a %s task gets the payload, and nothing else changes',
    async (state) => {
      const bench = new Bench();
      if (state === 'retrying' || state === 'dead') await bench.work();
      const id = await bench.task(state, 'a', { headers: { a: 'b' }, attempts: 3 });
      const before = await bench.queue.get(id);
      expect(await bench.queue.setPayload(id, { another: 'one' })).toBe(true);
      expect(await bench.queue.get(id)).toEqual({ ...before, payload: { another: 'one' } });
    },
  );

  test('is false for an active, a succeeded and an unknown task', async () => {
    const bench = new Bench();
    await bench.work();
    for (const state of ['active', 'succeeded'] as const) {
      expect([state, await bench.queue.setPayload(await bench.task(state), 2)]).toEqual([state, false]);
    }
    expect(await bench.queue.setPayload('nobody', 1)).toBe(false);
  });

  test('a batch is counted by its new elements', async () => {
    const bench = new Bench();
    const options = { ...keyed('append', HOUR_MS), maxElements: 3 };
    const { id } = await bench.queue.enqueue('ok', [1, 2], options);
    await bench.queue.setPayload(id, []);
    await bench.queue.enqueue('ok', [3, 4], options);
    expect(await bench.queue.get(id)).toMatchObject({ state: 'scheduled', payload: [3, 4] });
  });

  test('a payload that cannot be stored is refused', async () => {
    const { queue } = new Bench({ maxPayloadBytes: 10 });
    await expect(queue.setPayload('a', undefined)).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
    await expect(queue.setPayload('a', 'x'.repeat(20))).rejects.toMatchObject({
      code: 'ERR_PAYLOAD_TOO_LARGE',
    });
  });
});
