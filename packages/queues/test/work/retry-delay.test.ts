import { describe, expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import type { Backoff, BackoffFunction, FailedAttempt, Queue } from '@mortise/queues';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { reached } from '../fixture/until.js';

const HOUR_MS = 3_600_000;

function fail(): never {
  throw new Error('no');
}

/** When a task is tried again, in hours from now. */
async function hoursUntil(queue: Queue<Tasks>, id: string): Promise<number> {
  await reached(queue, id, 'retrying');
  return Math.round(((await queue.get(id))!.runAt! - Date.now()) / HOUR_MS);
}

describe('a function as backoff', () => {
  test('gets the failed attempt, and its delay counts', async () => {
    const { queue, work } = newQueue();
    const asked: FailedAttempt[] = [];
    const backoff: BackoffFunction = (failed) => {
      asked.push(failed);
      return failed.attempt === 1 ? 0 : 3 * HOUR_MS;
    };
    await work({ t: fail }, { backoff });
    const { id } = await queue.enqueue('t', 1, { attempts: 3 });
    expect(await hoursUntil(queue, id)).toBe(3);
    const failed = { id, queue: 'q', name: 't', attempts: 3, error: new Error('no') };
    expect(asked).toEqual([
      { ...failed, attempt: 1 },
      { ...failed, attempt: 2 },
    ]);
  });

  test('is not asked after the last attempt', async () => {
    const { queue, work } = newQueue();
    let asked = 0;
    await work({ t: fail }, { backoff: () => (asked += 1) });
    const { id } = await queue.enqueue('t', 1, { attempts: 1 });
    await reached(queue, id, 'dead');
    expect(asked).toBe(0);
  });

  test('the task decides whether it counts, then the handler, then the worker', async () => {
    const { queue, work } = newQueue();
    await work(
      { worker: fail, handler: { handle: fail, backoff: () => 2 * HOUR_MS } },
      { backoff: () => HOUR_MS },
    );
    const fixed: Backoff = { type: 'fixed', delayMs: 5 * HOUR_MS, jitter: 0 };
    const names = { worker: 1, handler: 2 };
    for (const [name, hours] of Object.entries(names)) {
      const plain = await queue.enqueue(name, 1);
      const own = await queue.enqueue(name, 1, { backoff: fixed });
      const custom = await queue.enqueue(name, 1, { backoff: { type: 'custom' } });
      expect(await hoursUntil(queue, plain.id)).toBe(hours);
      expect(await hoursUntil(queue, own.id)).toBe(5);
      expect(await hoursUntil(queue, custom.id)).toBe(hours);
    }
  });

  test('custom means the backoff of the worker, also when that is no function', async () => {
    const { queue, work } = newQueue();
    const backoff: Backoff = { type: 'fixed', delayMs: 4 * HOUR_MS, jitter: 0 };
    await work({ t: fail }, { backoff });
    const { id } = await queue.enqueue('t', 1, { backoff: { type: 'custom' } });
    expect(await hoursUntil(queue, id)).toBe(4);
  });

  test.each<[string, () => unknown]>([
    ['throws', fail],
    ['returns NaN', () => Number.NaN],
    ['returns a negative delay', () => -1],
    ['returns Infinity', () => Infinity],
    ['returns nothing', () => undefined],
    ['returns text', () => '5'],
    ['returns a promise', () => Promise.reject(new Error('async'))],
  ])('that %s is reported, and the default counts', async (_, backoff) => {
    const { queue, work } = newQueue();
    const errors: unknown[] = [];
    await work({ t: fail }, { backoff: backoff as () => number, onError: (error) => errors.push(error) });
    const own: Backoff = { type: 'custom', delayMs: 6 * HOUR_MS, jitter: 0 };
    const { id } = await queue.enqueue('t', 1, { id: 'a', backoff: own });
    await queue.enqueue('t', 1, { id: 'b' });
    expect(await hoursUntil(queue, id)).toBe(6);
    expect(await hoursUntil(queue, 'b')).toBe(0);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'ERR_BACKOFF_FUNCTION', queue: 'q', taskId: 'a', taskName: 't' }),
      expect.objectContaining({ code: 'ERR_BACKOFF_FUNCTION', taskId: 'b' }),
    ]);
  });
});

test('a worker cannot leave the backoff to itself', () => {
  expect(() => new Worker(redis, ['q'], { t: () => 1 }, { backoff: { type: 'custom' } })).toThrow(
    /must be a function/,
  );
});
