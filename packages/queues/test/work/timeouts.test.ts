import { describe, expect, test } from '@jest/globals';
import type { EnqueueOptions, TaskContext } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { age } from '../fixture/age.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, reached, until } from '../fixture/until.js';

const HOUR_MS = 3_600_000;

describe('timeoutMs', () => {
  test("ends the attempt and aborts its signal; the handler's later result is ignored", async () => {
    const { queue, work } = newQueue();
    const door = gate();
    const contexts: TaskContext[] = [];
    const handle = async (_: unknown, context: TaskContext): Promise<string> => {
      contexts.push(context);
      if (context.attempt > 1) return 'second';
      await door.passed;
      return 'first, too late';
    };
    const worker = await work({ t: { handle, timeoutMs: 50 } }, { concurrency: 1, backoff: { delayMs: 0 } });
    const { id } = await queue.enqueue('t', 1);
    await reached(queue, id, 'succeeded');
    // The slot was free while the first handler still ran.
    expect(contexts).toHaveLength(2);
    expect(contexts[0]!.signal.reason).toMatchObject({
      code: 'ERR_TASK_TIMEOUT',
      queue: 'q',
      taskId: id,
      limitMs: 50,
    });
    await expect(contexts[0]!.renew()).rejects.toMatchObject({ code: 'ERR_TASK_TIMEOUT' });
    await expect(contexts[0]!.progress(1)).rejects.toMatchObject({ code: 'ERR_TASK_TIMEOUT' });
    door.open();
    await worker.stop();
    expect(await queue.get(id)).toMatchObject({ result: 'second', attempt: 2 });
    expect(worker.running).toBe(0);
  });

  test('counts as a failed attempt, also of a handler that rejects when it is aborted', async () => {
    const { queue, work } = newQueue();
    const reasons: unknown[] = [];
    const t = async (_: unknown, { signal }: TaskContext): Promise<void> => {
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          reject(new Error('something else'));
        });
      });
    };
    await work({ t }, { backoff: { delayMs: 0 } });
    const { id } = await queue.enqueue('t', 1, { timeoutMs: 20, attempts: 2 });
    await reached(queue, id, 'dead');
    expect(reasons).toHaveLength(2);
    expect(await queue.get(id)).toMatchObject({
      attempt: 2,
      error: { message: expect.stringContaining('took longer than 20 ms') },
    });
  });

  test('that of a task goes before that of its handler', async () => {
    const { queue, work } = newQueue();
    const never = new Promise<never>(() => undefined);
    await work({
      short: { handle: () => never, timeoutMs: 20 },
      long: { handle: () => never, timeoutMs: HOUR_MS },
    });
    const options = { attempts: 1 };
    await queue.enqueue('short', 1, { ...options, id: 'a', timeoutMs: HOUR_MS });
    await queue.enqueue('long', 1, { ...options, id: 'b', timeoutMs: 20 });
    await queue.enqueue('short', 1, { ...options, id: 'c' });
    await counted(queue, { dead: 2 });
    expect(await queue.get('a')).toMatchObject({ state: 'active' });
    expect(await queue.get('b')).toMatchObject({ state: 'dead' });
  });

  test('in a batch it ends the tasks that have it, and the others count', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    const aborted: unknown[] = [];
    await work({
      t: {
        maxSize: 3,
        waitMs: HOUR_MS,
        handleMany: async (tasks) => {
          for (const { payload, ctx } of tasks) {
            ctx.signal.addEventListener('abort', () => aborted.push(payload));
          }
          await door.passed;
          return tasks.map(({ payload }) => payload as unknown);
        },
      },
    });
    await queue.enqueueMany(
      [1, 2, 3].map((payload) => ({
        name: 't',
        payload,
        options: { attempts: 1, ...(payload === 2 && { timeoutMs: 30 }) },
      })),
    );
    await counted(queue, { dead: 1 });
    expect(aborted).toEqual([2]);
    door.open();
    await counted(queue, { succeeded: 2 });
  });

  test('a call that is over makes room in its name before the handler returns', async () => {
    const { queue, work } = newQueue();
    const run: number[] = [];
    const handle = (payload: number): Promise<never> => {
      run.push(payload);
      return new Promise<never>(() => undefined);
    };
    await work({ t: { handle, concurrency: 1, timeoutMs: 20 } });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload, options: { attempts: 1 } })));
    await counted(queue, { dead: 3 });
    expect(run).toEqual([1, 2, 3]);
  });
});

describe('expiresInMs', () => {
  test('a task that has not started by then is dead, and is not run', async () => {
    const { queue, work } = newQueue();
    const run: string[] = [];
    await queue.enqueue('t', 'late', { id: 'late', expiresInMs: 20 });
    await queue.enqueue('t', 'early', { id: 'early', expiresInMs: HOUR_MS });
    const { enqueuedAt } = (await queue.get('late'))!;
    await until(() => Date.now() > enqueuedAt + 40);
    await work({ t: (payload: string) => void run.push(payload) });
    await counted(queue, { dead: 1, succeeded: 1 });
    expect(run).toEqual(['early']);
    expect(await queue.get('late')).toMatchObject({
      error: { message: expect.stringContaining('was not started within 20 ms') },
      attempt: 1,
      attempts: 5,
    });
  });

  test('a task that was started in time is tried again after that, and dies of its own error', async () => {
    const { queue, keys, work } = newQueue();
    let attempts = 0;
    const t = (): never => {
      attempts += 1;
      throw new Error(`no ${attempts}`);
    };
    await work({ t }, { backoff: { type: 'fixed', delayMs: HOUR_MS, jitter: 0 } });
    const { id } = await queue.enqueue('t', 1, { expiresInMs: HOUR_MS / 2, attempts: 2 });
    await reached(queue, id, 'retrying');
    await age(redis, keys, id, HOUR_MS);
    await queue.promote(id);
    await reached(queue, id, 'dead');
    expect(attempts).toBe(2);
    expect((await queue.get(id))!.error).toMatchObject({ name: 'Error', message: 'no 2' });
  });

  test('also for tasks that wait in the worker', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    const run: number[] = [];
    const handle = async (payload: number): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    await work({ t: { handle, concurrency: 1 } });
    await queue.enqueue('t', 1);
    const { id } = await queue.enqueue('t', 2, { expiresInMs: 2_000 });
    await queue.enqueue('t', 3);
    // Or the task came too late even for that.
    await until(async () => (await queue.counts()).active === 3 || (await queue.counts()).dead === 1);
    const { enqueuedAt } = (await queue.get(id))!;
    // The worker counts the time that is left from when it reads the reply, which a busy machine does later.
    await until(() => Date.now() > enqueuedAt + 5_000);
    door.open();
    await counted(queue, { succeeded: 2 });
    expect(run).toEqual([1, 3]);
    expect(await queue.counts()).toMatchObject({ dead: 1 });
  });
});

test.each<EnqueueOptions>([
  { timeoutMs: 0 },
  { timeoutMs: -1 },
  { timeoutMs: 2 ** 31 },
  { timeoutMs: Number.NaN },
  { timeoutMs: Infinity },
  { timeoutMs: '5' as unknown as number },
  { expiresInMs: 0 },
  { expiresInMs: Infinity },
  { expiresInMs: null as unknown as number },
  // Due when it has expired, it would never run.
  { expiresInMs: 1_000, delayMs: 1_000 },
])('%p is refused, and nothing is stored', async (options) => {
  const { queue, prefix } = newQueue();
  await expect(queue.enqueue('t', 1, options)).rejects.toThrow(/(timeout|expiresIn)Ms must be/);
  expect(await redis.keys(`${prefix}:*`)).toEqual([]);
});
