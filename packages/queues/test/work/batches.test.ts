import { describe, expect, test } from '@jest/globals';
import { Discard, RetryLater } from '@mortise/queues';
import type { BatchTask } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { heldRenewals } from '../fixture/paused-timers.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

// oxlint-disable-next-line typescript/no-explicit-any -- as above
type Batch = readonly BatchTask<any>[];

const HOUR_MS = 3_600_000;
const renewals = heldRenewals();

function payloadsOf(tasks: Batch): unknown[] {
  return tasks.map(({ payload }) => payload as unknown);
}

describe('a batch handler', () => {
  test('gets the tasks that came together, up to its size', async () => {
    const { queue, work } = newQueue();
    const batches: unknown[][] = [];
    await queue.enqueueMany(Array.from({ length: 25 }, (_, payload) => ({ name: 't', payload })));
    await work({ t: { maxSize: 10, handleMany: (tasks: Batch) => void batches.push(payloadsOf(tasks)) } });
    await counted(queue, { succeeded: 25 });
    expect(batches.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(batches.flat()).toEqual(Array.from({ length: 25 }, (_, index) => index));
  });

  test('a batch waits for its last tasks, but not for ever', async () => {
    const { queue, work } = newQueue();
    const batches: unknown[][] = [];
    const handleMany = (tasks: Batch): void => void batches.push(payloadsOf(tasks));
    await work({
      patient: { maxSize: 3, waitMs: HOUR_MS, handleMany },
      hasty: { maxSize: 3, waitMs: 50, handleMany },
    });
    for (const payload of [1, 2, 3, 4]) await queue.enqueue('patient', payload);
    await until(() => batches.length === 1);
    await queue.enqueue('hasty', 5);
    await until(() => batches.length === 2);
    expect(batches).toEqual([[1, 2, 3], [5]]);
    expect(await queue.counts()).toMatchObject({ active: 1 });
  });

  test('each task has its own result, failure and count of attempts', async () => {
    const { queue, work } = newQueue();
    const attempts: unknown[] = [];
    await work(
      {
        t: {
          maxSize: 10,
          handleMany: async (tasks: Batch) => {
            attempts.push(Object.fromEntries(tasks.map(({ ctx }) => [ctx.id, ctx.attempt])));
            return tasks.map(({ payload }) => {
              if (payload === 'fail') return new Error('only this one');
              if (payload === 'discard') return new Discard('no use');
              if (payload === 'later') return new RetryLater({ delayMs: HOUR_MS });
              return payload === 'nothing' ? undefined : `did ${payload}`;
            });
          },
        },
      },
      { backoff: { delayMs: 0 } },
    );
    await queue.enqueueMany(
      ['good', 'fail', 'discard', 'later', 'nothing'].map((payload) => ({
        name: 't',
        payload,
        options: { id: payload, attempts: 2 },
      })),
    );
    await counted(queue, { dead: 2 });
    expect(await queue.get('good')).toMatchObject({ state: 'succeeded', result: 'did good' });
    expect(await queue.get('nothing')).toMatchObject({ state: 'succeeded' });
    expect(await queue.get('nothing')).not.toHaveProperty('result');
    expect(await queue.get('fail')).toMatchObject({
      state: 'dead',
      attempt: 2,
      error: { message: expect.stringContaining('only this one') },
    });
    expect(await queue.get('discard')).toMatchObject({ state: 'dead', attempt: 1 });
    expect(await queue.get('later')).toMatchObject({ state: 'retrying', attempt: 0 });
    expect(attempts).toEqual([{ good: 1, fail: 1, discard: 1, later: 1, nothing: 1 }, { fail: 2 }]);
  });

  test.each<[string, (tasks: Batch) => unknown]>([
    [
      'what it throws',
      () => {
        throw new Error('all of them');
      },
    ],
    ['a result too few', (tasks) => tasks.slice(1)],
    ['what is no array', () => 'all of them'],
  ])('%s fails all', async (_, handleMany) => {
    const { queue, work } = newQueue();
    await queue.enqueueMany(
      [1, 2, 3].map((payload) => ({ name: 't', payload, options: { attempts: payload === 1 ? 1 : 5 } })),
    );
    await work(
      { t: { maxSize: 5, handleMany: handleMany as () => void } },
      { backoff: { delayMs: HOUR_MS } },
    );
    await counted(queue, { dead: 1 });
    await counted(queue, { retrying: 2 });
    expect(await queue.counts()).toMatchObject({ succeeded: 0, active: 0, ready: 0 });
  });

  test('a payload that is no JSON fails alone', async () => {
    const { queue, keys, work } = newQueue();
    const { id } = await queue.enqueue('t', 'abcdef', { attempts: 1 });
    await queue.enqueue('t', 2);
    const { tasks, ready } = {
      tasks: keys.of.tasks,
      ready: keys.priorityKeys(3)[3]!,
    };
    const [stored] = await redis.lrangeBuffer(ready, 0, 0);
    const record = await redis.hgetBuffer(tasks, stored!);
    await redis.hset(tasks, stored!, record!.subarray(0, -1));
    const batches: unknown[][] = [];
    await work({ t: { maxSize: 5, handleMany: (batch: Batch) => void batches.push(payloadsOf(batch)) } });
    await counted(queue, { dead: 1, succeeded: 1 });
    expect(batches).toEqual([[2]]);
    expect(id).toHaveLength(36);
  });

  test('one lost lease aborts its task alone; the others count', async () => {
    const { queue, keys, work } = newQueue();
    const door = gate();
    const aborted: unknown[] = [];
    const errors: unknown[] = [];
    await work(
      {
        t: {
          maxSize: 3,
          waitMs: HOUR_MS,
          handleMany: async (tasks: Batch) => {
            for (const { payload, ctx } of tasks) {
              ctx.signal.addEventListener('abort', () => aborted.push([payload, ctx.signal.reason]));
            }
            await door.passed;
          },
        },
      },
      { onError: (error) => errors.push(error) },
    );
    const enqueued = await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    await counted(queue, { active: 3 });
    const { attempts, active } = keys.of;
    const stored = Buffer.from(enqueued[1]!.id.replaceAll('-', ''), 'hex');
    await redis.hdel(attempts, stored);
    await redis.zrem(active, stored);
    await until(() => renewals.fire() > 0 || aborted.length === 1);
    await until(() => aborted.length === 1);
    door.open();
    await counted(queue, { succeeded: 2 });
    expect(aborted).toEqual([[2, expect.objectContaining({ code: 'ERR_LEASE_LOST' })]]);
    expect(errors).toHaveLength(1);
  });

  test('its concurrency counts calls; what comes meanwhile waits for the next batch', async () => {
    const { queue, work } = newQueue();
    const batches: unknown[][] = [];
    let active = 0;
    let most = 0;
    const first = gate();
    await work(
      {
        t: {
          maxSize: 5,
          concurrency: 1,
          handleMany: async (tasks: Batch) => {
            batches.push(payloadsOf(tasks));
            active += 1;
            most = Math.max(most, active);
            await first.passed;
            active -= 1;
          },
        },
      },
      { concurrency: 20 },
    );
    await queue.enqueue('t', 0);
    await until(() => batches.length === 1);
    await queue.enqueueMany(Array.from({ length: 12 }, (_, index) => ({ name: 't', payload: index + 1 })));
    await counted(queue, { ready: 0 });
    expect(batches).toEqual([[0]]);
    first.open();
    await counted(queue, { succeeded: 13 });
    expect(batches[1]).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(1);
  });

  test('takes no more slots than the worker has', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    let active = 0;
    await work(
      {
        batch: {
          maxSize: 4,
          waitMs: HOUR_MS,
          handleMany: async () => door.passed,
        },
        alone: async () => {
          active += 1;
          await door.passed;
        },
      },
      { concurrency: 6 },
    );
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 'batch', payload })));
    await counted(queue, { active: 3 });
    await queue.enqueueMany([1, 2, 3, 4, 5].map((payload) => ({ name: 'alone', payload })));
    await until(() => active === 3);
    expect(await queue.counts()).toMatchObject({ active: 6, ready: 2 });
    door.open();
    await counted(queue, { succeeded: 5 });
  });

  test('stop gives back what has not begun', async () => {
    const { queue, work } = newQueue();
    const handler = { maxSize: 9, waitMs: HOUR_MS, handleMany: () => undefined };
    const worker = await work({ t: handler });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload, options: { attempts: 1 } })));
    await counted(queue, { active: 3 });
    expect(worker.running).toBe(0);
    await worker.stop();
    expect(await queue.counts()).toMatchObject({ ready: 3, active: 0 });
    await work({ t: { ...handler, maxSize: 3 } });
    await counted(queue, { succeeded: 3 });
  });
});
