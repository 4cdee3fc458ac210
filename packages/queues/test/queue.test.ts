import { describe, expect, jest, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { EnqueueOptions, NewTask } from '@mortise/queues';
import { v4, v7 } from 'uuid';
import { freshPrefix, gate } from '@mortise/test-kit';
import { encodeTaskId } from '../src/task/task-id.js';
import { countsOf } from './fixture/bench.js';
import { launch } from './fixture/launch.js';
import { serverNow } from './fixture/set-due.js';
import { newQueue, redis } from './fixture/new-queue.js';
import type { Tasks } from './fixture/launch.js';
import { counted, reached, until } from './fixture/until.js';

const HOUR_MS = 3_600_000;

/** The payloads of all tasks, in the order in which a worker with one slot runs them. */
async function drain(prefix: string, count: number): Promise<unknown[]> {
  const run: unknown[] = [];
  const { work } = newQueue({ prefix });
  const worker = await work({ t: (payload) => void run.push(payload) }, { concurrency: 1 });
  await until(() => run.length >= count);
  await worker.stop();
  return run;
}

describe('enqueue', () => {
  test('stores a task under a new UUIDv7, or under an id of any form', async () => {
    const { queue } = newQueue();
    const { id, isDuplicate } = await queue.enqueue('t', { a: 1 });
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
    expect(isDuplicate).toBe(false);
    const ids = ['a', '\0', '🙂', 'x'.repeat(14), 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(1_024)];
    ids.push(v4(), v4().toUpperCase(), '{}', '}x', '%', 'a\nb', '__proto__');
    for (const own of ids)
      expect(await queue.enqueue('t', own, { id: own })).toEqual({ id: own, isDuplicate: false });
    for (const own of ids)
      expect(await queue.get(own)).toMatchObject({ id: own, payload: own, state: 'ready' });
    expect(await queue.counts()).toEqual(countsOf({ ready: ids.length + 1 }));
  });

  test('an id is stored once, in one tick, in one batch and later; the first one stands', async () => {
    const { queue } = newQueue();
    const together = await Promise.all([1, 1, 1].map((n) => queue.enqueue('t', n, { id: 'order 7' })));
    expect(together.map(({ isDuplicate }) => isDuplicate)).toEqual([false, true, true]);
    const later = await queue.enqueueMany([
      {
        name: 't',
        payload: 1,
        options: { id: 'order 7', priority: 'high', delayMs: 5_000, headers: { a: 'b' } },
      },
      { name: 't', payload: 5, options: { id: 'order 8' } },
      { name: 't', payload: 5, options: { id: 'order 8', attempts: 1 } },
    ]);
    expect(later.map(({ isDuplicate }) => isDuplicate)).toEqual([true, false, true]);
    expect(await queue.get('order 7')).toMatchObject({ payload: 1, priority: 'medium', state: 'ready' });
    expect(await queue.counts()).toEqual(countsOf({ ready: 2 }));
  });

  test('an id of a task with another name or payload is refused, in the same tick too', async () => {
    const { queue } = newQueue();
    const [first, ...others] = await Promise.allSettled([
      queue.enqueue('t', 1, { id: 'a' }),
      queue.enqueue('t', 2, { id: 'a' }),
      queue.enqueue('u', 1, { id: 'a' }),
    ]);
    expect(first).toMatchObject({ value: { id: 'a', isDuplicate: false } });
    expect(others).toMatchObject([
      { reason: { code: 'ERR_TASK_CONFLICT', taskId: 'a' } },
      { reason: { code: 'ERR_TASK_CONFLICT' } },
    ]);
    expect(await queue.enqueue('t', 1, { id: 'a', group: 'g' })).toEqual({ id: 'a', isDuplicate: true });
    expect(await queue.counts()).toEqual(countsOf({ ready: 1 }));
  });

  test('takes the payload as it is at the call', async () => {
    const { queue } = newQueue();
    const payload = { n: 1 };
    const stored = queue.enqueue('t', payload, { id: 'a' });
    payload.n = 2;
    await stored;
    expect(await queue.get('a')).toMatchObject({ payload: { n: 1 } });
  });

  test('tasks of one priority are first in, first out: one by one, in one tick, and over many batches', async () => {
    const { queue, prefix } = newQueue();
    for (let n = 0; n < 5; n += 1) await queue.enqueue('t', n);
    await Promise.all(Array.from({ length: 1_200 }, (_, index) => queue.enqueue('t', 5 + index)));
    await queue.enqueueMany(
      Array.from({ length: 1_200 }, (_, index) => ({ name: 't', payload: 1_205 + index })),
    );
    expect(await drain(prefix, 2_405)).toEqual(Array.from({ length: 2_405 }, (_, index) => index));
  });

  test('the first use of a queue keeps the order, too', async () => {
    const { queue, prefix } = newQueue();
    const many = queue.enqueueMany(
      Array.from({ length: 600 }, (_, index) => ({ name: 't', payload: index })),
    );
    const one = queue.enqueue('t', 600);
    await Promise.all([many, one]);
    expect(await drain(prefix, 601)).toEqual(Array.from({ length: 601 }, (_, index) => index));
  });

  test('higher priorities go first, strictly', async () => {
    const { queue, prefix } = newQueue();
    for (const priority of ['low', undefined, 'high', 'low', 'medium', 'high']) {
      await queue.enqueue('t', priority ?? 'default', priority === undefined ? {} : { priority });
    }
    expect(await drain(prefix, 6)).toEqual(['high', 'high', 'default', 'medium', 'low', 'low']);
  });

  test('delayed tasks run ahead of ready ones of their priority, in the order in which they fell due', async () => {
    const { queue, prefix, keys } = newQueue();
    const delays: [string, EnqueueOptions][] = [
      ['ready', {}],
      ['third', { delayMs: HOUR_MS + 120_000 }],
      ['first', { runAt: new Date(Date.now() + HOUR_MS) }],
      ['second', { runAt: Date.now() + HOUR_MS + 60_000 }],
      ['low, due', { delayMs: HOUR_MS, priority: 'low' }],
      ['high, ready', { priority: 'high' }],
    ];
    await Promise.all(delays.map(([payload, options]) => queue.enqueue('t', payload, options)));
    // As if that had been two hours ago.
    for (const key of keys.priorityKeys(3).filter((_, index) => index % 3 === 1)) {
      for (const stored of await redis.zrangeBuffer(key, '0', '-1'))
        await redis.zincrby(key, -2 * HOUR_MS, stored);
    }
    expect(await queue.counts()).toMatchObject({ ready: delays.length, scheduled: 0 });
    expect(await drain(prefix, 6)).toEqual(['high, ready', 'first', 'second', 'third', 'ready', 'low, due']);
  });

  test('an instant that has just passed means now, after ready tasks; an earlier one is refused', async () => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 'a');
    await queue.enqueue('t', 'b', { runAt: new Date(Date.now() - 1_000) });
    await queue.enqueue('t', 'c', { runAt: Date.now() - 10 });
    await expect(queue.enqueue('t', 'x', { runAt: new Date(0) })).rejects.toMatchObject({
      code: 'ERR_RUN_AT_PAST',
    });
    await queue.enqueue('t', 'd', { delayMs: 0 });
    expect(await queue.counts()).toEqual(countsOf({ ready: 4 }));
    expect(await drain(prefix, 4)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a delay may be ten years', async () => {
    const { queue } = newQueue();
    const before = await serverNow(redis);
    const { id } = await queue.enqueue('t', 1, { delayMs: 10 * 365.25 * 86_400_000 });
    const task = await queue.get(id);
    // It counts from the call, by what the client knows of the server's clock.
    expect(task!.runAt!).toBeGreaterThan(before + 315_576_000_000 - 5_000);
    expect(task!.runAt! - task!.enqueuedAt).toBeLessThan(315_576_000_000 + 5_000);
  });

  const range = (message: string) => misuse('RangeError', message);
  const type = (message: string) => misuse('TypeError', message);
  const misuse = (name: string, message: string) => ({
    name,
    code: 'ERR_INVALID_ARG',
    message: expect.stringContaining(message),
  });

  test.each<[string, unknown, unknown, unknown, object]>([
    ['undefined', 't', undefined, {}, { code: 'ERR_INVALID_PAYLOAD' }],
    ['BigInt', 't', { n: 1n }, {}, { code: 'ERR_INVALID_PAYLOAD' }],
    ['more bytes than characters', 't', 'é'.repeat(131_072), {}, { code: 'ERR_PAYLOAD_TOO_LARGE' }],
    ['100,000 numbers', 't', Array(100_000).fill(123), {}, { code: 'ERR_PAYLOAD_TOO_LARGE' }],
    ['an unknown priority', 't', 1, { priority: 'urgent' }, range('must be one of high, medium, low')],
    ['delayMs and runAt', 't', 1, { delayMs: 1, runAt: 1 }, type('exclude each other')],
    ['a delay of NaN', 't', 1, { delayMs: Number.NaN }, range('delayMs')],
    ['no attempts', 't', 1, { attempts: 0 }, range('attempts')],
    ['a header that is a number', 't', 1, { headers: { a: 1 } }, type('the header "a" must be a string')],
    ['headers that are too large', 't', 1, { headers: { a: 'x'.repeat(20_000) } }, range('16384')],
    ['a backoff of NaN', 't', 1, { backoff: { delayMs: Number.NaN } }, range('backoff.delayMs')],
    ['an empty id', 't', 1, { id: '' }, range('id must have')],
    ['an id with half a character', 't', 1, { id: '\ud83d' }, type('well-formed')],
    ['an id that is a number', 't', 1, { id: 5 }, type('id must be a string')],
    ['a group with half a character', 't', 1, { group: '\ud83d' }, type('well-formed')],
    ['a long group', 't', 1, { group: 'x'.repeat(1_025) }, range('group')],
    ['an empty name', '', 1, {}, range('task name')],
    ['a long name', 'x'.repeat(1_025), 1, {}, range('task name')],
    ['a name with half a character', '\ud83d', 1, {}, type('well-formed')],
    ['a name that is a number', 5, 1, {}, type('task name')],
    ['no options but null', 't', 1, null, type('null')],
  ])('%s is refused, and nothing is stored', async (_, name, payload, options, refusal) => {
    const { queue, prefix } = newQueue();
    const attempts = [
      queue.enqueue(name as string, payload, options as EnqueueOptions),
      queue.enqueueMany([{ name: 't', payload: 'fine' }, { name, payload, options } as NewTask<Tasks>]),
    ];
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject(refusal);
    // By now a call that should not have been made has been.
    await new Promise(setImmediate);
    expect(await redis.keys(`${prefix}:queues:{q}*`)).toEqual([]);
  });

  test('a refusal does not touch others of the same tick', async () => {
    const { queue } = newQueue();
    const results = await Promise.allSettled([
      queue.enqueue('t', 1),
      queue.enqueue('t', 2, { priority: 'urgent' }),
      queue.enqueue('t', undefined),
      queue.enqueue('t', 4),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await queue.counts()).toEqual(countsOf({ ready: 2 }));
  });

  test('payloads up to the limit of the queue, and more of them than one call carries', async () => {
    const { queue } = newQueue({ maxPayloadBytes: 8 * 1_024 * 1_024 });
    const large = 'x'.repeat(5 * 1_024 * 1_024);
    const tasks = Array.from({ length: 4 }, (_, index) => ({
      name: 't',
      payload: large + index,
      options: { id: String(index) },
    }));
    await queue.enqueueMany(tasks);
    expect(await queue.counts()).toEqual(countsOf({ ready: 4 }));
    const task = await queue.get('3');
    expect(task!.payload === `${large}3`).toBe(true);
  });

  test('nothing to store is nothing to send', async () => {
    const { queue, prefix } = newQueue();
    expect(await queue.enqueueMany([])).toEqual([]);
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });
});

describe('the time of a task', () => {
  const { queue } = newQueue();

  async function isTimely(id: string): Promise<boolean> {
    const { enqueuedAt } = (await queue.get(id))!;
    const [seconds] = await redis.time();
    return Math.abs(enqueuedAt - 1_000 * Number(seconds)) < 5_000;
  }

  test('is that of the server, whatever its client takes that to be', async () => {
    const ids: string[] = [];
    const enqueue = async (): Promise<void> => void ids.push((await queue.enqueue('t', 1)).id);
    // Before anything is known of it, and when it is known.
    await enqueue();
    await enqueue();
    for (const step of [3_600_000, -3_600_000, 1_000]) {
      const now = performance.now.bind(performance);
      const jump = jest.spyOn(performance, 'now').mockImplementation(() => now() + step);
      await enqueue();
      await enqueue();
      jump.mockRestore();
      await enqueue();
    }
    expect(await Promise.all(ids.map((id) => isTimely(id)))).toEqual(ids.map(() => true));
  });

  test('of a delayed one counts from the call on, not from when it is sent', async () => {
    await queue.enqueue('t', 1);
    const enqueued = queue.enqueue('t', 1, { delayMs: 60_000 });
    const called = performance.now();
    while (performance.now() < called + 200);
    const { id } = await enqueued;
    const { runAt, enqueuedAt } = (await queue.get(id))!;
    expect(runAt! - enqueuedAt).toBeLessThan(59_900);
    expect(runAt! - enqueuedAt).toBeGreaterThan(0);
  });

  test('of a delayed one is exact to the µs, and not at the end of its ms', async () => {
    const { queue: exact, keys } = newQueue({ priorities: ['only'] });
    const scheduled = keys.priorityKeys(1)[1]!;
    const serverUs = async (): Promise<number> => {
      const [seconds, us] = await redis.time();
      return Number(seconds) * 1_000_000 + Number(us);
    };
    for (let round = 0; round < 30; round += 1) {
      const calledUs = await serverUs();
      const { id } = await exact.enqueue('t', round, { delayMs: 60_000 });
      const dueUs = Math.round(1_000 * Number(await redis.zscore(scheduled, encodeTaskId(id))));
      expect(dueUs - calledUs).toBeGreaterThanOrEqual(60_000_000);
      expect(dueUs - (await serverUs())).toBeLessThanOrEqual(60_000_000);
    }
  });

  test('of a delayed one is never due before the delay has passed, also when the first reply was held up here', async () => {
    for (let round = 0; round < 30; round += 1) {
      const { queue: fresh } = newQueue();
      await fresh.counts();
      const first = fresh.enqueue('t', 1);
      await new Promise(setImmediate);
      const sentAt = performance.now();
      while (performance.now() < sentAt + 15);
      await first;
      const [seconds, us] = await redis.time();
      const { id } = await fresh.enqueue('t', 1, { delayMs: 60_000 });
      const calledAt = Number(seconds) * 1_000 + Number(us) / 1_000;
      expect((await fresh.get(id))!.runAt! - calledAt).toBeGreaterThanOrEqual(60_000);
    }
  });
});

describe('priorities', () => {
  test('are stored by the first enqueue; other instances without names adopt them', async () => {
    const { queue, prefix } = newQueue({ priorities: ['now', 'later'] });
    await queue.enqueue('t', 'later', { priority: 'later' });
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    await other.enqueue('t', 'now', { priority: 'now' });
    const { id } = await other.enqueue('t', 'default');
    expect(await other.get(id)).toMatchObject({ priority: 'later' });
    expect(await new Queue(redis, 'q', { prefix }).get(id)).toMatchObject({ priority: 'later' });
    expect(await new Queue(redis, 'q', { prefix }).counts()).toEqual(countsOf({ ready: 3 }));
    await expect(other.enqueue('t', 1, { priority: 'high' })).rejects.toThrow(
      'priority must be one of now, later',
    );
    expect(await drain(prefix, 3)).toEqual(['now', 'later', 'default']);
  });

  test('an instance that names others is refused, and nothing is written', async () => {
    const { queue, prefix } = newQueue({ priorities: ['now', 'later'] });
    const { id } = await queue.enqueue('t', 1);
    const other = new Queue<Tasks>(redis, 'q', { prefix, priorities: ['later', 'now'] });
    const refusal = { code: 'ERR_PRIORITIES_MISMATCH', queue: 'q', stored: ['now', 'later'] };
    await expect(other.enqueue('t', 2)).rejects.toMatchObject(refusal);
    await expect(other.enqueueMany([{ name: 't', payload: 3 }])).rejects.toMatchObject(refusal);
    await expect(other.get(id)).rejects.toMatchObject(refusal);
    await expect(other.counts()).rejects.toMatchObject(refusal);
    expect(await queue.counts()).toEqual(countsOf({ ready: 1 }));
  });

  test('instances without names adopt the priorities of a queue that was created again', async () => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 1);
    await redis.del(...(await redis.keys(`${prefix}:queues:{q}*`)));
    await new Queue<Tasks>(redis, 'q', { prefix, priorities: ['only'] }).enqueue('t', 2);
    await queue.enqueue('t', 3);
    expect(await queue.counts()).toEqual(countsOf({ ready: 2 }));
    expect(await drain(prefix, 2)).toEqual([2, 3]);
  });

  test('up to sixteen', async () => {
    const priorities = Array.from({ length: 16 }, (_, index) => `p${index}`);
    const { queue, prefix } = newQueue({ priorities });
    for (const priority of priorities.toReversed()) await queue.enqueue('t', priority, { priority });
    expect(await drain(prefix, 16)).toEqual(priorities);
  });
});

describe('get', () => {
  test('returns null for an unknown id, and refuses values that cannot be ids', async () => {
    const { queue } = newQueue();
    expect(await queue.get('nobody')).toBeNull();
    expect(await queue.get(v7())).toBeNull();
    await expect(queue.get('')).rejects.toThrow(RangeError);
    await expect(queue.get(undefined as unknown as string)).rejects.toThrow(TypeError);
  });

  test('shows a task in every state', async () => {
    const { queue, work } = newQueue();
    const headers = { traceparent: '00-1' };
    const before = await serverNow(redis);
    await queue.enqueue('work', { a: [1] }, { id: 'a', headers, attempts: 2, priority: 'high' });
    const base = { id: 'a', name: 'work', payload: { a: [1] }, headers, attempts: 2, priority: 'high' };
    const ready = await queue.get('a');
    expect(ready).toEqual({ ...base, state: 'ready', attempt: 0, enqueuedAt: expect.any(Number) });
    expect(ready!.enqueuedAt).toBeGreaterThanOrEqual(before);
    expect(ready!.enqueuedAt).toBeLessThanOrEqual(await serverNow(redis));

    await queue.enqueue('work', 1, { id: 'b', delayMs: 60_000 });
    expect(await queue.get('b')).toMatchObject({ state: 'scheduled', attempt: 0, runAt: expect.any(Number) });

    const doors = [gate(), gate()];
    const begun: number[] = [];
    await work(
      {
        work: async (_, { attempt }) => {
          begun.push(attempt);
          await doors[attempt - 1]!.passed;
          if (attempt === 1) throw new Error('not today');
          return { done: true };
        },
        useless: () => {
          throw new Discard('no use');
        },
      },
      { backoff: { type: 'fixed', delayMs: 3_600_000, jitter: 0 } },
    );
    await until(() => begun.length === 1);
    const active = await queue.get('a');
    expect(active).toEqual({
      ...base,
      state: 'active',
      attempt: 1,
      enqueuedAt: ready!.enqueuedAt,
      leaseUntil: expect.any(Number),
    });
    expect(active!.leaseUntil! - ready!.enqueuedAt).toBeGreaterThan(9_000);

    doors[0]!.open();
    expect(await reached(queue, 'a', 'retrying')).toEqual({
      ...base,
      state: 'retrying',
      attempt: 1,
      enqueuedAt: ready!.enqueuedAt,
      runAt: expect.any(Number),
      error: { name: 'Error', message: 'not today', stack: expect.stringMatching(/^Error: not today\n/) },
    });

    expect(await queue.promote('a')).toBe(true);
    await until(() => begun.length === 2);
    expect(await queue.get('a')).toMatchObject({ state: 'active', attempt: 2 });
    doors[1]!.open();
    expect(await reached(queue, 'a', 'succeeded')).toEqual({
      ...base,
      state: 'succeeded',
      attempt: 2,
      enqueuedAt: ready!.enqueuedAt,
      finishedAt: expect.any(Number),
      result: { done: true },
    });

    const { id } = await queue.enqueue('useless', 1);
    expect(await reached(queue, id, 'dead')).toMatchObject({
      state: 'dead',
      attempt: 1,
      finishedAt: expect.any(Number),
      error: { name: 'Discard', code: 'ERR_DISCARDED', message: 'no use' },
    });
  });

  test('a delayed task that has fallen due is ready', async () => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 1, { id: 'a', delayMs: 3_600_000 });
    expect(await queue.get('a')).toMatchObject({ state: 'scheduled' });
    const [scheduled] = await redis.keys(`${prefix}:*:scheduled*`);
    const [member] = await redis.zrange(scheduled!, '0', '-1');
    await redis.zadd(scheduled!, '1', member!);
    expect(await queue.get('a')).toMatchObject({ state: 'ready' });
    const task = await queue.get('a');
    expect(task).not.toHaveProperty('runAt');
  });
});

describe('counts', () => {
  test('are 0 for an unused queue, and leave no key', async () => {
    const { queue, prefix } = newQueue();
    expect(await queue.counts()).toEqual(countsOf({}));
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('are exact in every state and priority', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    await work(
      {
        wait: () => door.passed,
        fail: () => {
          throw new Error('no');
        },
        die: () => {
          throw new Discard('no');
        },
        ok: () => 1,
      },
      { concurrency: 2, backoff: { delayMs: 60_000 } },
    );
    const all = (['high', 'medium', 'low'] as const).flatMap((priority) =>
      ['fail', 'die', 'die', 'ok', 'ok', 'ok'].map((name) => ({ name, payload: 1, options: { priority } })),
    );
    await queue.enqueueMany(all);
    await counted(queue, { succeeded: 9 });
    await queue.enqueueMany(Array.from({ length: 2 }, () => ({ name: 'wait', payload: 1 })));
    await counted(queue, { active: 2 });
    for (const priority of ['high', 'medium', 'low']) {
      await queue.enqueue('ok', 1, { priority });
      await queue.enqueue('ok', 1, { priority, delayMs: 60_000 });
    }
    const expected = countsOf({ scheduled: 3, ready: 3, active: 2, retrying: 3, succeeded: 9, dead: 6 });
    expect(await queue.counts()).toEqual(expected);
    door.open();
    await counted(queue, { active: 0 });
    expect(await queue.counts()).toEqual({ ...expected, ready: 0, active: 0, succeeded: 14 });
  });
});

describe('names', () => {
  test.each(['}x', '{}', '%', '🙂', 'a\nb', '\0', '\ud800', '__proto__', 'a:b', '*'])(
    'a queue %j has its own tasks',
    async (name) => {
      const prefix = freshPrefix();
      const queue = new Queue<Tasks>(redis, name, { prefix });
      const other = new Queue<Tasks>(redis, `${name}x`, { prefix });
      await queue.enqueue('t', 1);
      expect([(await queue.counts()).ready, (await other.counts()).ready]).toEqual([1, 0]);
      const run: string[] = [];
      await launch(redis, name, { t: (_, context) => void run.push(context.queue) }, { prefix });
      await until(() => run.length === 1);
      expect(run).toEqual([name]);
    },
  );
});
