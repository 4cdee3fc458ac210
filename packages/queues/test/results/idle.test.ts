import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, gate, interposed } from '@mortise/test-kit';
import { newQueue, redis } from '../fixture/new-queue.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { counted, until } from '../fixture/until.js';

/** Tells whether the promise has settled, after all that was sent before. */
function watch(promise: Promise<void>): { isOver: boolean } {
  const state = { isOver: false };
  void promise.finally(() => (state.isOver = true)).catch(() => undefined);
  return state;
}

describe('idle, by messages alone', () => {
  heldRechecks();

  test('resolves at once for a queue without tasks, and creates no key', async () => {
    const { queue, prefix } = newQueue();
    await queue.idle();
    await queue.idle({ waitMs: 0 });
    expect(await redis.keys(`${prefix}*`)).toEqual([]);
  });

  test('resolves with the end of the last task, in whatever state the others are', async () => {
    const { queue, work } = newQueue();
    const opened = gate();
    await queue.enqueue('t', 1, { priority: 'high' });
    await queue.enqueue('hold', 1);
    await queue.enqueue('again', 1, { priority: 'low' });
    await queue.enqueue('t', 1, { delayMs: 3_600_000 });
    const idle = queue.idle();
    const state = watch(idle);
    await work(
      {
        t: () => 1,
        hold: () => opened.passed,
        again: (_, { attempt }) => {
          if (attempt === 1) throw new Error('again');
        },
      },
      { backoff: { type: 'fixed', delayMs: 20, jitter: 0 } },
    );
    await counted(queue, { succeeded: 2, active: 1 });
    await queue.get('any');
    expect(state.isOver).toBe(false);
    opened.open();
    await idle;
    expect(await queue.counts()).toMatchObject({
      ready: 0,
      active: 0,
      retrying: 0,
      succeeded: 3,
      scheduled: 1,
    });
  });

  test.each(['cancel', 'remove'] as const)('resolves when %s ends the last task', async (act) => {
    const { queue } = newQueue();
    await queue.enqueue('t', 1, { id: 'a' });
    await queue.enqueue('t', 1, { id: 'b' });
    const idle = queue.idle();
    await until(async () => (await queue.settings()).hasOptional);
    for (const id of ['b', 'a']) expect(await queue[act](id)).toBe(true);
    await idle;
  });

  test('resolves when a queue with groups, shards and flows has ended all', async () => {
    const { queue, work } = newQueue({ shards: 3 });
    const task = { name: 't', payload: 1 };
    await queue.enqueueMany(['a', 'b', 'c', 'd'].map((group) => ({ ...task, options: { group } })));
    const { id } = await queue.enqueueFlow({ ...task, children: [task, { ...task, children: [task] }] });
    const idle = queue.idle();
    await work({ t: () => 1 });
    await idle;
    expect(await queue.get(id)).toMatchObject({ state: 'succeeded' });
    expect(await queue.counts()).toMatchObject({ succeeded: 8, waiting: 0 });
  });

  test('resolves when a dead child has made its parent dead', async () => {
    const { queue, work } = newQueue();
    await queue.enqueueFlow({
      name: 't',
      payload: 1,
      children: [{ name: 'bad', payload: 1, options: { attempts: 1 } }],
    });
    const idle = queue.idle();
    await work({
      t: () => 1,
      bad: () => {
        throw new Error('no');
      },
    });
    await idle;
    expect(await queue.counts()).toMatchObject({ dead: 2, waiting: 0 });
  });

  test('a task that is tried again in an hour is left, until it is cancelled', async () => {
    const { queue, work } = newQueue();
    const fail = (): void => {
      throw new Error('again');
    };
    await work({ fail }, { backoff: { delayMs: 3_600_000 } });
    const { id } = await queue.enqueue('fail', 1);
    await counted(queue, { retrying: 1 });
    await expect(queue.idle({ waitMs: 20 })).rejects.toMatchObject({ code: 'ERR_IDLE_TIMEOUT' });
    const idle = queue.idle();
    await queue.cancel(id);
    await idle;
  });

  test('tombstones are no tasks, and hide none', async () => {
    const { queue, keys } = newQueue();
    await queue.enqueueMany(
      Array.from({ length: 1_000 }, (_, n) => ({ name: 't', payload: n, options: { id: `n${n}` } })),
    );
    const cancelAll = (from: number, to: number): Promise<unknown> =>
      Promise.all(Array.from({ length: to - from }, (_, n) => queue.cancel(`n${from + n}`)));
    await cancelAll(200, 800);
    await cancelAll(1, 200);
    await cancelAll(800, 1_000);
    const ready = keys.priorityKeys(3)[3]!;
    expect(await redis.llen(ready)).toBeGreaterThan(500);
    // Its task is too far from the end of the list, so it looks each second.
    await expect(queue.idle({ waitMs: 0 })).rejects.toMatchObject({ code: 'ERR_IDLE_TIMEOUT' });
    const idle = queue.idle();
    await queue.cancel('n0');
    expect(await redis.llen(ready)).toBeGreaterThan(500);
    await idle;
  });

  test('looks few times, however many tasks there are', async () => {
    const { prefix, work } = newQueue();
    let looks = 0;
    const counting = interposed(connect(), async (_, send) => {
      looks += 1;
      return send();
    });
    const queue = new Queue(counting, 'q', { prefix });
    await queue.enqueueMany(Array.from({ length: 2_000 }, (_, n) => ({ name: 't', payload: n })));
    looks = 0;
    const idle = queue.idle();
    await work({ t: () => 1 }, { keepSucceeded: 0 });
    await idle;
    expect(looks).toBeLessThan(100);
  });
});

describe('idle ends', () => {
  test('after waitMs', async () => {
    const { queue } = newQueue();
    const { id } = await queue.enqueue('t', 1);
    const late = { code: 'ERR_IDLE_TIMEOUT', queue: 'q' };
    await expect(queue.idle({ waitMs: 1_000 })).rejects.toMatchObject({
      ...late,
      waitMs: 1_000,
      cause: { taskId: id },
    });
    await expect(queue.idle({ waitMs: 0 })).rejects.toMatchObject({ ...late, waitMs: 0 });
  });

  test('with its signal, also one that was aborted before', async () => {
    const { queue } = newQueue();
    await queue.enqueue('t', 1);
    const abort = new AbortController();
    const idle = queue.idle({ signal: abort.signal });
    await until(async () => (await queue.settings()).hasOptional);
    abort.abort(new Error('enough'));
    await expect(idle).rejects.toThrow('enough');
    await expect(queue.idle({ signal: abort.signal })).rejects.toThrow('enough');
  });

  test('with the client', async () => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 1);
    const client = connect();
    const idle = new Queue(client, 'q', { prefix }).idle().catch((error: Error) => error);
    await until(async () => (await queue.settings()).hasOptional);
    client.disconnect();
    expect(await idle).toBeInstanceOf(Error);
  });

  test('with options that there are not', async () => {
    const { queue } = newQueue();
    // @ts-expect-error -- no such option
    await expect(queue.idle({ timeoutMs: 5 })).rejects.toThrow('idle has no option "timeoutMs"');
    await expect(queue.idle({ waitMs: -1 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
    // @ts-expect-error -- no signal
    await expect(queue.idle({ signal: 5 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  });
});
