/** Steps that are remembered with their task, and cursors. */
import { expect, test } from '@jest/globals';
import { Discard } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { Bench } from '../fixture/bench.js';
import { redis } from '../fixture/new-queue.js';
import { counted, reached, until } from '../fixture/until.js';

const AGAIN = { backoff: { type: 'fixed', delayMs: 0, jitter: 0 } } as const;

test('a step runs once; a later attempt gets what the first one got', async () => {
  const bench = new Bench();
  const runs: string[] = [];
  const got: unknown[] = [];
  await bench.launch({
    t: async (_, ctx) => {
      for (const [name, result] of [
        ['a', { at: new Date(0) }],
        ['b', undefined],
        ['c', 'text'],
      ] as const) {
        got.push(
          await ctx.step(name, () => {
            runs.push(name);
            return result;
          }),
        );
      }
      if (ctx.attempt < 3) throw new Error('again');
      return ctx.step('d', async () => 4);
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, AGAIN);
  expect(await bench.queue.result(id)).toBe(4);
  expect(runs).toEqual(['a', 'b', 'c']);
  const once = [{ at: '1970-01-01T00:00:00.000Z' }, undefined, 'text'];
  expect(got).toEqual([...once, ...once, ...once]);
  const { steps, attempt } = (await bench.queue.get(id))!;
  expect([attempt, steps?.map(({ name }) => name)]).toEqual([3, ['a', 'b', 'c', 'd']]);
  expect(steps![0]!.at).toBeGreaterThan(Date.now() - 60_000);
});

test('a step that throws is not stored, and steps at the same time are', async () => {
  const bench = new Bench();
  let fails = 0;
  await bench.launch({
    t: async (_, ctx) => {
      const all = ['a', 'b', 'c'].map((name) => ctx.step(name, () => `${name}${ctx.attempt}`));
      const results = await Promise.all(all);
      await ctx.step('fails', () => {
        fails += 1;
        if (fails < 3) throw new Error('no');
      });
      return results;
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, AGAIN);
  expect(await bench.queue.result(id)).toEqual(['a1', 'b1', 'c1']);
  expect(fails).toBe(3);
});

test('a cursor is that of the attempt before', async () => {
  const bench = new Bench();
  const seen: number[] = [];
  await bench.launch({
    t: async (_, ctx) => {
      const from = ((await ctx.cursor()) as number | undefined) ?? 0;
      for (let n = from; n < 6; n += 1) {
        seen.push(n);
        await ctx.setCursor(n + 1);
        expect(await ctx.cursor()).toBe(n + 1);
        if (n % 2 === 1) throw new Error('again');
      }
    },
  });
  const { id } = await bench.queue.enqueue('t', 1, AGAIN);
  await reached(bench.queue, id, 'succeeded');
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
});

test('a worker that stops costs no attempt and no step', async () => {
  const bench = new Bench();
  let runs = 0;
  const t = async (_: unknown, ctx: TaskContext): Promise<number> => {
    await ctx.step('once', () => {
      runs += 1;
    });
    if (runs === 1 && !bench.hanging.has('went on')) {
      bench.hanging.set('went on', ctx);
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      });
    }
    return ctx.attempt;
  };
  const worker = await bench.launch({ t });
  const { id } = await bench.queue.enqueue('t', 1, { attempts: 1 });
  await reached(bench.queue, id, 'active');
  await until(() => bench.hanging.has('went on'));
  await worker.stop({ graceMs: 0 });
  await bench.launch({ t });
  expect(await bench.queue.result(id)).toBe(1);
  expect(runs).toBe(1);
});

test('an attempt without its lease stores nothing', async () => {
  const bench = new Bench();
  let end!: () => void;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const refused: unknown[] = [];
  await bench.launch({
    t: async (_, ctx) => {
      if (ctx.attempt > 1) return;
      await ctx
        .step('a', () => held)
        .catch((error: unknown) => refused.push((error as { code: string }).code));
      await ctx.setCursor(1).catch((error: unknown) => refused.push((error as { code: string }).code));
    },
  });
  const { id } = await bench.queue.enqueue('t', 1);
  await reached(bench.queue, id, 'active');
  expect(await bench.queue.cancel(id)).toBe(true);
  end();
  await until(() => refused.length === 2);
  expect(refused).toEqual(['ERR_TASK_CANCELLED', 'ERR_TASK_CANCELLED']);
  expect(await redis.exists(bench.keys.of.steps)).toBe(0);
});

test('steps have limits, and go away with their task', async () => {
  const bench = new Bench();
  const codes: unknown[] = [];
  const note = (error: unknown): void => void codes.push((error as { code: string }).code);
  await bench.launch({
    many: async (_, ctx) => {
      await Promise.all(Array.from({ length: 1_000 }, (_step, n) => ctx.step(`s${n}`, () => n)));
      await ctx.step('one more', () => 1).catch(note);
    },
    large: async (_, ctx) => {
      const size = 250_000;
      for (let n = 0; n < 4; n += 1) await ctx.step(`s${n}`, () => 'x'.repeat(size));
      await ctx.step('one more', () => 'x'.repeat(size)).catch(note);
      await ctx.setCursor('x'.repeat(size)).catch(note);
      await ctx.setCursor('x');
      await ctx.step('too large', () => 'x'.repeat(270_000)).catch(note);
      await ctx.step('s1', () => 1).catch(note);
      await ctx.step('', () => 1).catch(note);
    },
  });
  for (const name of ['many', 'large']) await bench.queue.enqueue(name, 1);
  await counted(bench.queue, { succeeded: 2 });
  expect(codes.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
    'ERR_INVALID_ARG',
    'ERR_INVALID_ARG',
    'ERR_INVALID_ARG',
    'ERR_STEPS_TOO_LARGE',
    'ERR_STEPS_TOO_LARGE',
    'ERR_TOO_MANY_STEPS',
  ]);
  await bench.queue.clean('succeeded');
  expect(await redis.exists(bench.keys.of.steps)).toBe(0);
});

test.each([
  ['by number', { keepSucceeded: 2, keepDead: 1 }, 3],
  ['at once', { keepSucceeded: 0, keepDead: 1 }, 1],
  ['by age', { keepSucceededMs: 100, keepDead: 1 }, 1],
] as const)(
  'retention %s deletes the steps, cursors and events of the tasks that go',
  async (_, options, left) => {
    const bench = new Bench();
    await bench.launch(
      {
        ok: async (__, ctx) => {
          await ctx.step('a', () => 1);
          await ctx.setCursor(1);
          await ctx.waitFor('go', { timeoutMs: 60_000 });
        },
        die: async (__, ctx) => {
          await ctx.step('a', () => 1);
          throw new Discard('no');
        },
      },
      options,
    );
    for (let n = 0; n < 5; n += 1) {
      const { id } = await bench.queue.enqueue('ok', n);
      await bench.queue.deliver(id, 'go', n);
      await bench.queue.deliver(id, 'nobody waits for it', n);
      await bench.queue.enqueue('die', n);
    }
    // The fields name their tasks.
    const { steps, tasks } = bench.keys.of;
    await until(async () => (await redis.hlen(tasks)) === left);
    const ids = await redis.hkeysBuffer(tasks);
    const fields = await redis.hkeysBuffer(steps);
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((field) => !ids.some((id) => field.includes(id)))).toEqual([]);
  },
);

test('a task that sleeps frees its slot, costs no attempt and goes on with another worker', async () => {
  const bench = new Bench();
  const runs: string[] = [];
  const t = async (_: unknown, ctx: TaskContext): Promise<number> => {
    for (const name of ['a', 'b', 'c']) {
      await ctx.step(name, () => void runs.push(name));
      // A handler that catches everything sleeps all the same.
      if (name < 'c') await ctx.sleep(name === 'a' ? 2_000 : 1);
    }
    return ctx.attempt;
  };
  const caught = async (payload: unknown, ctx: TaskContext): Promise<unknown> =>
    t(payload, ctx).catch(() => 'caught');
  const worker = await bench.launch({ t: caught, ok: () => 'ok' }, { concurrency: 1 });
  const startedAt = Date.now();
  const { id } = await bench.queue.enqueue('t', 1, { attempts: 1 });
  const { runAt } = await reached(bench.queue, id, 'retrying');
  expect(runAt! - startedAt).toBeGreaterThan(1_990);
  const other = await bench.queue.enqueue('ok', 1);
  expect(await bench.queue.result(other.id)).toBe('ok');
  await worker.stop();
  await bench.launch({ t });
  expect(await bench.queue.result(id)).toBe(1);
  expect(Date.now() - startedAt).toBeGreaterThan(2_000);
  expect(runs).toEqual(['a', 'b', 'c']);
  expect((await bench.queue.get(id))!.steps!.map(({ name }) => name)).toEqual([
    'a',
    'sleep 1',
    'b',
    'sleep 2',
    'c',
  ]);
});

test('a task that sleeps is promoted too early, and sleeps on; cancelled, it never goes on', async () => {
  const bench = new Bench();
  let runs = 0;
  await bench.launch({
    t: async (_, ctx) => {
      runs += 1;
      await ctx.sleep(3_600_000);
    },
  });
  const { id } = await bench.queue.enqueue('t', 1);
  await reached(bench.queue, id, 'retrying');
  expect(await bench.queue.promote(id)).toBe(true);
  await until(() => runs === 2);
  await reached(bench.queue, id, 'retrying');
  expect(await bench.queue.cancel(id)).toBe(true);
  await bench.expectCounts({ cancelled: 1 });
});

test('a task wakes up once from its sleep, at its instant', async () => {
  const bench = new Bench();
  const runs = new Map<string, number>();
  await bench.launch({
    t: async (_, ctx) => {
      runs.set(ctx.id, (runs.get(ctx.id) ?? 0) + 1);
      await ctx.sleep(60);
    },
  });
  const tasks = Array.from({ length: 30 }, (_, payload) => ({ name: 't', payload }) as const);
  await bench.queue.enqueueMany(tasks);
  await counted(bench.queue, { succeeded: 30 });
  // On a busy machine a sleep may be over before its attempt ends.
  expect(Math.max(...runs.values())).toBeLessThanOrEqual(2);
  expect(runs.size).toBe(30);
});
