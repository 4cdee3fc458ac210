import { describe, expect, test } from '@jest/globals';
import { Discard, Queue, RetryLater, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { connect, freshPrefix, gate, interposed } from '@mortise/test-kit';
import { heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { serverNow } from '../fixture/set-due.js';
import { watched } from '../fixture/commands-of.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, reached, until } from '../fixture/until.js';

describe('failures', () => {
  test('a failing task is tried again after its backoff, then is dead with its last error', async () => {
    const { queue, work } = newQueue();
    const fail = (_: unknown, { attempt }: TaskContext): never => {
      throw new Error(`no ${attempt}`);
    };
    const delayMs = 600_000;
    await work({ t: fail }, { backoff: { delayMs, jitter: 0 } });
    let before = await serverNow(redis);
    const { id } = await queue.enqueue('t', 1, { attempts: 3 });
    for (const attempt of [1, 2]) {
      await until(async () => {
        const task = await queue.get(id);
        return task?.state === 'retrying' && task.attempt === attempt;
      });
      const { runAt } = (await queue.get(id))!;
      expect(runAt).toBeGreaterThanOrEqual(before + attempt * delayMs);
      expect(runAt).toBeLessThanOrEqual((await serverNow(redis)) + attempt * delayMs);
      before = await serverNow(redis);
      await queue.promote(id);
    }
    expect(await reached(queue, id, 'dead')).toMatchObject({
      attempt: 3,
      error: { name: 'Error', message: 'no 3', stack: expect.stringMatching(/^Error: no 3\n/) },
    });
  });

  test('a failing task runs again by itself when its time has come', async () => {
    const { queue, work } = newQueue();
    const at: number[] = [];
    const t = (): void => {
      at.push(performance.now());
      if (at.length < 2) throw new Error('again');
    };
    await work({ t }, { backoff: { delayMs: 50, jitter: 0 } });
    await queue.enqueue('t', 1);
    await counted(queue, { succeeded: 1 });
    expect(at[1]! - at[0]!).toBeGreaterThan(45);
  });

  test('retries and scheduled tasks run in the order in which they fall due', async () => {
    const { queue, prefix, keys } = newQueue();
    const run: string[] = [];
    const handlers = {
      t: (payload: string, { attempt }: TaskContext) => {
        run.push(payload);
        if (payload === 'retried' && attempt === 1) throw new Error('again');
      },
    };
    const options = {
      prefix,
      concurrency: 1,
      backoff: { type: 'fixed', delayMs: 60_000, jitter: 0 },
    } as const;
    const first = await launch(redis, 'q', handlers, options);
    const { id } = await queue.enqueue('t', 'retried');
    await reached(queue, id, 'retrying');
    await first.stop();
    const { runAt = 0 } = (await queue.get(id))!;
    await queue.enqueueMany([
      { name: 't', payload: 'after', options: { runAt: runAt + 10 } },
      { name: 't', payload: 'before', options: { runAt: runAt - 10 } },
      { name: 't', payload: 'ready' },
    ]);
    expect(await queue.counts()).toMatchObject({ ready: 1, scheduled: 2, retrying: 1 });
    const [, scheduled, retrying] = keys.priorityKeys(3).slice(3) as [string, string, string];
    for (const key of [scheduled, retrying]) {
      for (const stored of await redis.zrangeBuffer(key, '0', '-1'))
        await redis.zincrby(key, -90_000, stored);
    }
    await launch(redis, 'q', handlers, options);
    await until(() => run.length === 5);
    expect(run.slice(1)).toEqual(['before', 'retried', 'after', 'ready']);
  });

  test('Discard ends a task at once', async () => {
    const { queue, work } = newQueue();
    await work({ t: async () => Promise.reject(new Discard('no use')) });
    const { id } = await queue.enqueue('t', 1);
    expect(await reached(queue, id, 'dead')).toMatchObject({
      attempt: 1,
      error: { name: 'Discard', code: 'ERR_DISCARDED', message: expect.stringMatching(/^no use/) },
    });
  });

  test('RetryLater does not count as an attempt', async () => {
    const { queue, work } = newQueue();
    const attempts: number[] = [];
    await work({
      t: (_, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length < 4) throw new RetryLater({ delayMs: 1 });
      },
    });
    const { id } = await queue.enqueue('t', 1, { attempts: 1 });
    await reached(queue, id, 'succeeded');
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(await queue.get(id)).toMatchObject({ attempt: 1 });
  });

  test('a RetryLater that cannot be is a failure like any other', async () => {
    const { queue, work } = newQueue();
    const later = (): never => {
      throw new RetryLater({ delayMs: Number.NaN });
    };
    await work({ t: later });
    const { id } = await queue.enqueue('t', 1, { attempts: 1 });
    await reached(queue, id, 'dead');
    expect((await queue.get(id))!.error).toMatchObject({
      name: 'RangeError',
      code: 'ERR_INVALID_ARG',
      message: expect.stringMatching(/^delayMs must be/),
    });
  });

  test('the worker goes on after any thrown value', async () => {
    const { queue, work } = newQueue();
    const bad = (): never => {
      throw new Error('never');
    };
    const thrown: Record<string, unknown> = {
      undefined,
      null: null,
      text: 'plain',
      symbol: Symbol('s'),
      bare: Object.create(null),
      proxy: new Proxy({}, { getPrototypeOf: bad, get: bad }),
      stack: Object.defineProperty(new Error('e'), 'stack', { get: bad }),
      long: new Error('é'.repeat(1_000_000)),
    };
    const handlers = Object.fromEntries(
      Object.entries(thrown).map(([name, what]) => [
        name,
        () => {
          throw what;
        },
      ]),
    );
    await work({ ...handlers, fine: () => 'fine' }, { concurrency: 2 });
    for (const name of Object.keys(thrown)) await queue.enqueue(name, 1, { id: name, attempts: 1 });
    await queue.enqueue('fine', 1, { id: 'fine' });
    await counted(queue, { dead: 8, succeeded: 1 });
    expect((await queue.get('undefined'))!.error).toMatchObject({ name: 'Error', message: 'undefined' });
    expect((await queue.get('proxy'))!.error!.message).toBe('an error that cannot be shown (object)');
    expect((await queue.get('long'))!.error!.message).toHaveLength(1_001);
  });

  test('a record that cannot be read is dead-lettered and reported', async () => {
    const { queue, keys, work } = newQueue();
    const errors: unknown[] = [];
    const { id } = await queue.enqueue('t', 1);
    await queue.enqueue('t', 2);
    const [stored] = await redis.lrangeBuffer(keys.priorityKeys(3)[3]!, 0, 0);
    await redis.hset(keys.of.tasks, stored!, Buffer.from('\x01\0\x05 not a record'));
    const run: unknown[] = [];
    await work(
      { t: (payload) => run.push(payload) },
      { concurrency: 1, onError: (error) => errors.push(error) },
    );
    await until(async () => run.length === 1 && (await queue.counts()).dead === 1);
    expect(run).toEqual([2]);
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_TASK_UNREADABLE', taskId: id })]);
  });

  test('a payload that is no JSON is a failure', async () => {
    const { queue, keys, work } = newQueue();
    const { id } = await queue.enqueue('t', 'abcdef', { attempts: 1 });
    const [stored] = await redis.lrangeBuffer(keys.priorityKeys(3)[3]!, 0, 0);
    const record = await redis.hgetBuffer(keys.of.tasks, stored!);
    await redis.hset(keys.of.tasks, stored!, record!.subarray(0, -1));
    await work({ t: () => undefined });
    await counted(queue, { dead: 1 });
    await expect(queue.get(id)).rejects.toThrow(SyntaxError);
  });
});

describe('concurrency', () => {
  test('is never exceeded, and used in full', async () => {
    const { queue, work } = newQueue();
    let active = 0;
    let most = 0;
    let done = 0;
    const isFull = gate();
    await work(
      {
        t: async (payload) => {
          active += 1;
          most = Math.max(most, active);
          if (active === 17) isFull.open();
          await isFull.passed;
          for (let turn = 0; turn < payload % 3; turn += 1) await new Promise(setImmediate);
          active -= 1;
          done += 1;
          if (payload % 7 === 0) throw new RetryLater({ delayMs: 60_000 });
        },
      },
      { concurrency: 17 },
    );
    await queue.enqueueMany(Array.from({ length: 1_000 }, (_, payload) => ({ name: 't', payload })));
    await until(() => done === 1_000);
    expect(most).toBe(17);
  });

  test('two workers share a queue, and no task runs twice', async () => {
    const { queue, work } = newQueue();
    const run = new Map<string, number[]>();
    for (const name of ['one', 'two']) {
      run.set(name, []);
      const t = async (payload: number): Promise<void> => {
        run.get(name)!.push(payload);
        await new Promise(setImmediate);
      };
      await work({ t }, { concurrency: 5 });
    }
    await queue.enqueueMany(Array.from({ length: 500 }, (_, payload) => ({ name: 't', payload })));
    await counted(queue, { succeeded: 500 });
    const all = [...run.values()].flat();
    expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, index) => index));
    expect(Math.min(...[...run.values()].map(({ length }) => length))).toBeGreaterThan(0);
  });

  test('queues are served in order', async () => {
    const prefix = freshPrefix();
    const run: string[] = [];
    const queues = ['urgent', 'normal', 'bulk'];
    for (const name of queues.toReversed()) {
      const queue = new Queue<Tasks>(redis, name, { prefix });
      await queue.enqueueMany(
        ['low', 'high'].flatMap((priority) =>
          [1, 2].map((n) => ({
            name: 't',
            payload: `${name} ${priority} ${n}`,
            options: { priority },
          })),
        ),
      );
    }
    await launch(redis, queues, { t: (payload) => run.push(payload) }, { prefix, concurrency: 1 });
    await until(() => run.length === 12);
    expect(run).toEqual(
      queues.flatMap((name) => ['high 1', 'high 2', 'low 1', 'low 2'].map((rest) => `${name} ${rest}`)),
    );
  });
});

describe('retention', () => {
  const rechecks = heldRechecks();

  test('succeeded tasks are kept up to a count', async () => {
    const { queue, keys, work } = newQueue();
    await work({ t: (payload) => payload }, { keepSucceeded: 10 });
    const enqueued = await queue.enqueueMany(
      Array.from({ length: 300 }, (_, payload) => ({ name: 't', payload })),
    );
    await until(async () => {
      const { ready, active } = await queue.counts();
      return ready + active === 0;
    });
    expect((await queue.counts()).succeeded).toBe(10);
    expect(await queue.get(enqueued[0]!.id)).toBeNull();
    expect([await redis.hlen(keys.of.tasks), await redis.hlen(keys.of.attempts)]).toEqual([10, 10]);
  });

  test.each([{ keepSucceeded: 0 }, { keepSucceededMs: 0 }])(
    '%j keeps none, and leaves nothing',
    async (keep) => {
      const { queue, prefix, work } = newQueue();
      const worker = await work({ t: (payload) => payload }, keep);
      const { id } = await queue.enqueue('t', 1, { id: 'a' });
      await until(async () => (await queue.get(id)) === null);
      expect(await queue.enqueue('t', 1, { id: 'a' })).toMatchObject({ isDuplicate: false });
      await until(async () => (await queue.get(id)) === null);
      await worker.stop();
      // The names of handlers expire.
      const keys = await redis.keys(`${prefix}:queues:{q}*`);
      expect(keys.toSorted()).toEqual(['handlers', 'settings'].map((part) => `${prefix}:queues:{q}:${part}`));
    },
  );

  test('and up to an age, also when nothing more succeeds', async () => {
    const { queue, keys, work } = newQueue();
    await work(
      {
        t: () => 1,
        later: () => {
          throw new RetryLater({ delayMs: 60_000 });
        },
      },
      { keepSucceededMs: 3_600_000 },
    );
    await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ name: 't', payload })));
    await counted(queue, { succeeded: 4 });
    // As if they had succeeded an hour ago, and the last one a minute later.
    const now = await serverNow(redis);
    for (const [index, stored] of (await redis.lrangeBuffer(keys.of.succeeded, 0, -1)).entries()) {
      const ended = (await redis.hgetBuffer(keys.of.attempts, stored))!;
      ended.writeDoubleBE(now - (index < 3 ? 3_600_001 : 3_540_000), 1);
      await redis.hset(keys.of.attempts, stored, ended);
    }
    await queue.enqueue('later', 1);
    // Not every call looks for what is too old.
    await until(async () => rechecks.fire() >= 0 && (await queue.counts()).succeeded === 1);
    expect(await redis.hlen(keys.of.tasks)).toBe(2);
  });

  test('an id is remembered as long as its task is retained', async () => {
    const { queue, work } = newQueue();
    await work({ t: () => 1 });
    await queue.enqueue('t', 1, { id: 'a' });
    await reached(queue, 'a', 'succeeded');
    expect(await queue.enqueue('t', 1, { id: 'a' })).toEqual({ id: 'a', isDuplicate: true });
    expect(await queue.get('a')).toMatchObject({ state: 'succeeded', payload: 1 });
  });

  test('dead tasks are kept up to a count; the oldest go', async () => {
    const { queue, keys, work } = newQueue();
    const die = (): never => {
      throw new Discard('no');
    };
    await work({ die }, { concurrency: 1, keepDead: 5 });
    const enqueued = await queue.enqueueMany(
      Array.from({ length: 40 }, (_, payload) => ({ name: 'die', payload })),
    );
    await reached(queue, enqueued[39]!.id, 'dead');
    expect((await queue.counts()).dead).toBe(5);
    expect(await redis.hlen(keys.of.tasks)).toBe(5);
    expect(await queue.get(enqueued[0]!.id)).toBeNull();
  });
});

describe('stop', () => {
  heldRechecks();

  test('waits for what runs, and takes nothing more', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    const run: unknown[] = [];
    const t = async (payload: unknown): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    const worker = await work({ t }, { concurrency: 1 });
    await queue.enqueueMany([1, 2].map((payload) => ({ name: 't', payload })));
    await until(() => run.length === 1);
    const stopped = worker.stop();
    door.open();
    await stopped;
    expect(run).toEqual([1]);
    expect(await queue.counts()).toMatchObject({ ready: 1, active: 0, succeeded: 1 });
  });

  test('a task that arrives after that is not begun, but goes back, though running ones have time left', async () => {
    const { queue, prefix, keys } = newQueue();
    const [ended, replied, held] = [gate(), gate(), gate()];
    let isHeld = false;
    let underWay = 0;
    const client = interposed(connect(), async (_, send) => {
      underWay += 1;
      const reply = await send().finally(() => {
        underWay -= 1;
      });
      if (isHeld) {
        held.open();
        await replied.passed;
      }
      return reply;
    });
    const run: unknown[] = [];
    const t = async (payload: unknown): Promise<void> => {
      run.push(payload);
      await ended.passed;
    };
    const worker = new Worker(client, ['q'], { t }, { prefix, concurrency: 2 });
    await worker.start();
    await queue.enqueue('t', 1, { attempts: 1 });
    // A call that is held with room for the second task would keep it from being fetched.
    await until(async () => run.length === 1 && (await redis.zcard(keys.of.idle)) === 1 && underWay === 0);
    isHeld = true;
    // Not handed off, because of its attempts: it comes with the reply.
    await queue.enqueue('t', 2, { attempts: 1 });
    await counted(queue, { active: 2 });
    await held.passed;
    isHeld = false;
    const stopped = worker.stop();
    replied.open();
    await counted(queue, { active: 1, ready: 1 });
    ended.open();
    await stopped;
    expect(run).toEqual([1]);
    expect(await queue.counts()).toMatchObject({ ready: 1, active: 0, succeeded: 1, dead: 0 });
  });

  test('gives back what is not finished: another worker has it at once, and the attempt does not count', async () => {
    const { queue, work } = newQueue();
    const reasons: unknown[] = [];
    const never = new Promise<never>(() => undefined);
    const t = (_: unknown, { signal }: TaskContext): Promise<never> => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return never;
    };
    const worker = await work({ t }, { concurrency: 20 });
    await queue.enqueueMany(Array.from({ length: 20 }, (_, payload) => ({ name: 't', payload })));
    await counted(queue, { active: 20 });
    const run: [number, number][] = [];
    await work({ t: (payload, { attempt }) => run.push([payload, attempt]) });
    await worker.stop({ graceMs: 20 });
    await until(() => run.length === 20);
    expect(run.every(([, attempt]) => attempt === 1)).toBe(true);
    expect(reasons).toHaveLength(20);
    expect(reasons[0]).toMatchObject({ code: 'ERR_WORKER_STOPPED' });
  });

  test('a handler that ends after it was given back changes nothing', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    let context: TaskContext | undefined;
    const t = async (_: unknown, given: TaskContext): Promise<string> => {
      context = given;
      await door.passed;
      return 'too late';
    };
    const worker = await work({ t });
    const { id } = await queue.enqueue('t', 1);
    await until(() => context !== undefined);
    await worker.stop({ graceMs: 0 });
    await expect(context!.renew()).rejects.toMatchObject({ code: 'ERR_WORKER_STOPPED' });
    door.open();
    await new Promise(setImmediate);
    expect(await queue.get(id)).toMatchObject({ state: 'ready', attempt: 0 });
  });

  test('a stopped worker can be started again, also while it stops', async () => {
    const { queue, work } = newQueue();
    const run: unknown[] = [];
    const worker = await work({ t: (payload) => run.push(payload) });
    for (let round = 1; round <= 3; round += 1) {
      await queue.enqueue('t', round);
      await counted(queue, { succeeded: round });
      const stopped = worker.stop();
      expect(worker.isRunning).toBe(false);
      if (round === 2) await stopped;
      await worker.start();
      expect(worker.isRunning).toBe(true);
    }
    expect(run).toEqual([1, 2, 3]);
  });

  test('during its first subscription leaves nothing that the next start meets', async () => {
    const { queue, prefix, keys } = newQueue();
    const attempts: number[] = [];
    const t = (_: unknown, { attempt }: TaskContext): void => void attempts.push(attempt);
    const worker = await launch(connect(), 'q', { t }, { prefix });
    await worker.stop();
    await worker.start();
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    await queue.enqueue('t', 1);
    await until(() => attempts.length === 1);
    expect(attempts).toEqual([1]);
  });

  test('cancels a start that waits for the end of another stop', async () => {
    const { work } = newQueue();
    const worker = await work({ t: () => undefined });
    await Promise.all([worker.stop(), worker.start(), worker.stop()]);
    expect(worker.isRunning).toBe(false);
    await Promise.all([worker.stop(), worker.start(), worker.stop(), worker.start()]);
    expect(worker.isRunning).toBe(true);
  });

  test('is idempotent and legal before start', async () => {
    const { prefix } = newQueue();
    const worker = new Worker(redis, ['q'], { t: () => 1 }, { prefix });
    await Promise.all([worker.stop(), worker.stop()]);
    await worker.stop({ graceMs: Infinity });
    for (const graceMs of [-1, Number.NaN]) expect(() => worker.stop({ graceMs })).toThrow(RangeError);
    expect(() => worker.stop({ graceMs: '5' as unknown as number })).toThrow(TypeError);
  });

  test('start is idempotent', async () => {
    const { queue, work } = newQueue();
    const run: unknown[] = [];
    const worker = await work({ t: (payload) => run.push(payload) });
    await worker.start();
    await queue.enqueue('t', 1);
    await counted(queue, { succeeded: 1 });
    expect(run).toEqual([1]);
  });

  test('leaves nothing behind but the queue', async () => {
    const { queue, prefix, work } = newQueue();
    const worker = await work({ t: () => 1 });
    await queue.enqueue('t', 1);
    await counted(queue, { succeeded: 1 });
    await worker.stop();
    const keys = await redis.keys(`${prefix}:queues:{q}*`);
    expect(keys.map((key) => key.slice(prefix.length + '{q}:queues::'.length)).toSorted()).toEqual([
      'attempts',
      'handlers',
      'settings',
      'succeeded',
      'tasks',
    ]);
  });
});

describe('pause and resume', () => {
  test('a paused worker takes nothing; what runs goes on', async () => {
    const { queue, keys, work } = newQueue();
    const door = gate();
    const run: number[] = [];
    const t = async (payload: number): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    const worker = await work({ t });
    expect([worker.isRunning, worker.isPaused, worker.running]).toEqual([true, false, 0]);
    await queue.enqueue('t', 1);
    await until(() => run.length === 1);
    worker.pause();
    worker.pause();
    expect([worker.isRunning, worker.isPaused, worker.running]).toEqual([true, true, 1]);
    await until(async () => (await redis.exists(keys.of.idle)) === 0);
    await queue.enqueue('t', 2);
    door.open();
    await counted(queue, { succeeded: 1 });
    expect(await queue.counts()).toMatchObject({ ready: 1, active: 0 });
    expect(worker.running).toBe(0);
    worker.resume();
    await counted(queue, { succeeded: 2 });
    expect(run).toEqual([1, 2]);
    await worker.stop();
    expect(worker.isRunning).toBe(false);
  });

  test('a paused worker is not woken in place of another, and sends nothing', async () => {
    const { queue, prefix, keys, work } = newQueue();
    const { client, sent } = await watched();
    const run: string[] = [];
    const paused = await launch(client, 'q', { t: () => void run.push('paused') }, { prefix });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    paused.pause();
    await until(async () => (await redis.zcard(keys.of.idle)) === 0);
    await work({ t: () => void run.push('other') });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const before = sent.length;
    for (let n = 1; n <= 20; n += 1) {
      await queue.enqueue('t', n);
      await counted(queue, { succeeded: n });
    }
    expect(new Set(run)).toEqual(new Set(['other']));
    expect(sent.slice(before).filter(({ what }) => what === 'fetcher.fetch-and-ack')).toEqual([]);
  });

  test('legal before start and after stop', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.enqueue('t', 1);
    const worker = new Worker<Tasks>(redis, ['q'], { t: () => 1 }, { prefix });
    worker.resume();
    worker.pause();
    await worker.start();
    expect([worker.isRunning, worker.isPaused]).toEqual([true, true]);
    // Another one takes the task.
    const other = await work({ t: () => 2 });
    await counted(queue, { succeeded: 1 });
    await other.stop();
    const { id } = await queue.enqueue('t', 1);
    worker.resume();
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ result: 1 });
    await worker.stop();
    worker.pause();
    worker.resume();
    expect([worker.isRunning, worker.isPaused]).toEqual([false, false]);
  });
});
