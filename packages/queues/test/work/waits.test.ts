/** Events for which a task waits: each is taken once, whenever it comes. */
import { expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import { Bench } from '../fixture/bench.js';
import { redis } from '../fixture/new-queue.js';
import { counted, reached, until } from '../fixture/until.js';

const HOUR = { timeoutMs: 3_600_000 };
const codeOf = (error: unknown): string => (error as { code: string }).code;

test('an event that comes later continues the task on any worker, and costs no attempt', async () => {
  const bench = new Bench();
  const runs: number[] = [];
  const t = async (_: unknown, ctx: TaskContext): Promise<unknown> => {
    runs.push(ctx.attempt);
    return ctx.waitFor('approved', HOUR);
  };
  const worker = await bench.launch({ t, ok: () => 'ok' }, { concurrency: 1 });
  const { id } = await bench.queue.enqueue('t', 1, { attempts: 1 });
  const waiting = await reached(bench.queue, id, 'retrying');
  expect(waiting.waitsFor).toBe('approved');
  expect(waiting.runAt! - Date.now()).toBeGreaterThan(3_500_000);
  expect(waiting.error).toBeUndefined();
  const other = await bench.queue.enqueue('ok', 1);
  expect(await bench.queue.result(other.id)).toBe('ok');
  await worker.stop();
  await bench.launch({ t });
  // Another event does not wake it.
  expect(await bench.queue.deliver(id, 'refused')).toBe(true);
  expect((await bench.queue.get(id))!.state).toBe('retrying');
  expect(await bench.queue.deliver(id, 'approved', { by: 'ann' })).toBe(true);
  // Without a wake-up the worker would look after 3 s.
  expect(await bench.queue.result(id, { waitMs: 2_500 })).toEqual({ by: 'ann' });
  expect(runs).toEqual([1, 1]);
  const { steps, waitsFor } = (await bench.queue.get(id))!;
  expect([steps!.map(({ name }) => name), waitsFor]).toEqual([['wait 1 approved'], undefined]);
  expect(await bench.queue.deliver(id, 'approved')).toBe(false);
  expect(await bench.queue.deliver('unknown', 'approved')).toBe(false);
});

test('an event that has come before frees no slot', async () => {
  const bench = new Bench();
  let runs = 0;
  await bench.launch({
    t: async (_, ctx) => {
      runs += 1;
      const got = [await ctx.waitFor('a', HOUR), await ctx.waitFor('b', HOUR)];
      // While it runs.
      await bench.queue.deliver(ctx.id, 'a', 3);
      return [...got, await ctx.waitFor('a', HOUR), await ctx.waitFor('a', HOUR)];
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, { delayMs: 3_600_000 });
  await bench.queue.deliver(id, 'b', 2);
  await bench.queue.deliver(id, 'a', 1);
  await bench.queue.deliver(id, 'a');
  await bench.queue.promote(id);
  expect(await bench.queue.result(id)).toEqual([1, 2, null, 3]);
  expect(runs).toBe(1);
});

test('an event between the wait and the end of its attempt continues the task at once', async () => {
  const bench = new Bench();
  let runs = 0;
  await bench.launch({
    t: async (_, ctx) => {
      runs += 1;
      return ctx.waitFor('approved', HOUR).catch(async (error: unknown) => {
        // The wait is registered, and the end of the attempt is not sent.
        await bench.queue.deliver(ctx.id, 'approved', 'in between');
        throw error;
      });
    },
  });
  const { id } = await bench.queue.enqueue('t', 1);
  expect(await bench.queue.result(id)).toBe('in between');
  expect(runs).toBe(2);
});

test('an attempt without its lease takes no event', async () => {
  const bench = new Bench();
  let go!: () => void;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const codes: string[] = [];
  const got: unknown[] = [];
  const t = async (_: unknown, ctx: TaskContext): Promise<void> => {
    if (ctx.attempt === 1) {
      await held;
      await ctx.waitFor('approved', HOUR).catch((error: unknown) => codes.push(codeOf(error)));
      return;
    }
    await until(() => codes.length > 0);
    got.push(await ctx.waitFor('approved', HOUR));
  };
  await bench.launch({ t }, { onError: () => undefined });
  const { id } = await bench.queue.enqueue('t', 1);
  await reached(bench.queue, id, 'active');
  await bench.queue.deliver(id, 'approved', 7);
  // As if the lease had ended, and the worker did not know.
  for (const member of await redis.zrangeBuffer(bench.keys.of.active, '0', '-1')) {
    await redis.zadd(bench.keys.of.active, 'XX', 0, member);
  }
  // Its maintenance returns the task.
  await bench.launch({ t }, { onError: () => undefined });
  await until(async () => (await bench.queue.get(id))!.attempt === 2);
  go();
  await reached(bench.queue, id, 'succeeded');
  expect([codes, got]).toEqual([['ERR_LEASE_LOST'], [7]]);
});

test('a wait has an end, which is remembered', async () => {
  const bench = new Bench();
  const codes: string[] = [];
  await bench.launch({
    caught: async (_, ctx) => {
      await ctx.waitFor('approved', { timeoutMs: 50 }).catch((error: unknown) => {
        if (codeOf(error) !== 'ERR_EVENT_TIMEOUT') throw error;
        codes.push(codeOf(error));
      });
      // Too late for the first wait, not for the next one.
      await bench.queue.deliver(ctx.id, 'approved', 'late');
      if (ctx.attempt === 1) throw new Error('again');
      return ctx.waitFor('approved', HOUR);
    },
    thrown: async (_, ctx) => ctx.waitFor('approved', { timeoutMs: 0 }),
  });
  const backoff = { type: 'fixed', delayMs: 0, jitter: 0 } as const;
  const { id } = await bench.queue.enqueue('caught', 1, { backoff });
  expect(await bench.queue.result(id)).toBe('late');
  expect(codes).toEqual(['ERR_EVENT_TIMEOUT', 'ERR_EVENT_TIMEOUT']);
  const other = await bench.queue.enqueue('thrown', 1, { attempts: 5, backoff });
  const dead = await reached(bench.queue, other.id, 'dead');
  expect([dead.attempt, dead.error?.code]).toEqual([1, 'ERR_EVENT_TIMEOUT']);
});

test('a task that is promoted too early waits on, and a cancelled one takes no event', async () => {
  const bench = new Bench();
  let runs = 0;
  await bench.launch({
    t: async (_, ctx) => {
      runs += 1;
      await ctx.waitFor('approved', HOUR);
    },
  });
  const { id } = await bench.queue.enqueue('t', 1);
  const { runAt } = await reached(bench.queue, id, 'retrying');
  expect(await bench.queue.promote(id)).toBe(true);
  await until(() => runs === 2);
  expect((await reached(bench.queue, id, 'retrying')).runAt).toBe(runAt);
  expect(await bench.queue.cancel(id)).toBe(true);
  expect(await bench.queue.deliver(id, 'approved')).toBe(false);
  await bench.expectCounts({ cancelled: 1 });
});

test('waits at the same time follow each other, and a sleep comes after them', async () => {
  const bench = new Bench();
  await bench.launch({
    t: async (_, ctx) => {
      const got = await Promise.all([ctx.waitFor('a', HOUR), ctx.waitFor('b', HOUR), ctx.step('c', () => 3)]);
      await ctx.sleep(1);
      return got;
    },
  });
  const { id } = await bench.queue.enqueue('t', 1);
  await reached(bench.queue, id, 'retrying');
  await bench.queue.deliver(id, 'b', 2);
  expect((await bench.queue.get(id))!.waitsFor).toBe('a');
  await bench.queue.deliver(id, 'a', 1);
  expect(await bench.queue.result(id)).toEqual([1, 2, 3]);
});

test('tasks of an ordered group wait behind one that waits', async () => {
  const bench = new Bench();
  await bench.queue.configure({ groups: { concurrency: 1, ordered: true } });
  const order: unknown[] = [];
  await bench.launch({
    t: async (payload, ctx) => {
      if (payload === 1) await ctx.waitFor('go', HOUR);
      order.push(payload);
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, { group: 'g' });
  await reached(bench.queue, id, 'retrying');
  await bench.queue.enqueue('t', 2, { group: 'g' });
  await bench.queue.deliver(id, 'go');
  await counted(bench.queue, { succeeded: 2 });
  expect(order).toEqual([1, 2]);
});

test('a delivery finds its task in any shard', async () => {
  const bench = new Bench({ shards: 4 });
  await bench.launch({ t: async (_, ctx) => ctx.waitFor('go', HOUR) });
  const ids = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => (await bench.queue.enqueue('t', n, { group: `g${n}` })).id),
  );
  await counted(bench.queue, { retrying: 12 });
  expect(await Promise.all(ids.map((id, n) => bench.queue.deliver(id, 'go', n)))).toEqual(
    ids.map(() => true),
  );
  expect(await Promise.all(ids.map((id) => bench.queue.result(id)))).toEqual(ids.map((_, n) => n));
});

test('a delivery with an id is stored once, before and after the task has taken it', async () => {
  const bench = new Bench();
  await bench.launch({
    t: async (_, ctx) => {
      const first = await ctx.waitFor('a', HOUR);
      await bench.queue.deliver(ctx.id, 'a', 'again', { id: 'd1' });
      return [first, await ctx.waitFor('a', HOUR)];
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, { delayMs: 3_600_000 });
  for (const payload of [1, 2]) expect(await bench.queue.deliver(id, 'a', payload, { id: 'd1' })).toBe(true);
  await bench.queue.promote(id);
  await reached(bench.queue, id, 'retrying');
  expect(await bench.queue.deliver(id, 'a', 3, { id: 'd2' })).toBe(true);
  expect(await bench.queue.result(id)).toEqual([1, 3]);
});

test('events have limits, and go away with their task', async () => {
  const bench = new Bench();
  const { id } = await bench.queue.enqueue('t', 1, { delayMs: 3_600_000 });
  const large = await bench.queue.enqueue('t', 1, { delayMs: 3_600_000 });
  const hundred = Array.from({ length: 100 }, (_, n) => bench.queue.deliver(id, 'a', n));
  expect(await Promise.all(hundred)).toEqual(hundred.map(() => true));
  await expect(bench.queue.deliver(id, 'a')).rejects.toMatchObject({ code: 'ERR_TOO_MANY_EVENTS' });
  const half = 'x'.repeat(65_000);
  for (let n = 0; n < 4; n += 1) await bench.queue.deliver(large.id, 'a', half);
  await expect(bench.queue.deliver(large.id, 'a', half)).rejects.toMatchObject({
    code: 'ERR_EVENTS_TOO_LARGE',
  });
  await expect(bench.queue.deliver(id, 'a', 'x'.repeat(65_536))).rejects.toThrow(RangeError);
  await expect(bench.queue.deliver(id, '')).rejects.toThrow(RangeError);
  await expect(bench.queue.deliver(id, 'a', 1, { id: '' })).rejects.toThrow(RangeError);
  for (const one of [id, large.id]) await bench.queue.remove(one);
  expect(await redis.exists(bench.keys.of.steps)).toBe(0);
});

test('the events of the queue tell of a delivery and of a wait', async () => {
  const bench = new Bench();
  await bench.queue.eventsCursor();
  await bench.launch({ t: async (_, ctx) => ctx.waitFor('approved', HOUR) });
  const { id } = await bench.queue.enqueue('t', 1);
  await reached(bench.queue, id, 'retrying');
  await bench.queue.deliver(id, 'approved', 1);
  await bench.queue.result(id);
  const events = await bench.queue.lastEvents();
  expect(events.map(({ type, event }) => [type, event])).toEqual([
    ['enqueued', undefined],
    ['started', undefined],
    ['retrying', 'approved'],
    ['delivered', 'approved'],
    ['started', undefined],
    ['succeeded', undefined],
  ]);
});
