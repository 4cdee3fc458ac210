import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { serverNow } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

/** Runs tasks that end when the test ends them, and remembers in which order they began. */
function stage(): {
  began: unknown[];
  open: Set<unknown>;
  handler: (payload: unknown) => Promise<void>;
  end: (payload: unknown) => void;
} {
  const began: unknown[] = [];
  const ends = new Map<unknown, () => void>();
  const open = new Set<unknown>();
  return {
    began,
    open,
    handler: (payload) =>
      new Promise((resolve) => {
        began.push(payload);
        open.add(payload);
        ends.set(payload, () => {
          open.delete(payload);
          resolve();
        });
      }),
    end: (payload) => ends.get(payload)!(),
  };
}

describe('a check of the stored settings', () => {
  test('sees the changes of others, and prevents the change when it throws', async () => {
    const { queue, prefix } = newQueue();
    await queue.configure({ concurrency: 1 });
    await new Queue(redis, 'q', { prefix }).configure({ concurrency: 2 });
    const seen: unknown[] = [];
    const refuse = ({ concurrency }: { concurrency: number | undefined }): never => {
      seen.push(concurrency);
      throw new Error('not this one');
    };
    await expect(queue.configure({ concurrency: 3 }, { check: refuse })).rejects.toThrow('not this one');
    expect(seen).toEqual([2]);
    expect((await queue.settings()).concurrency).toBe(2);
  });

  test.each([1, 4])(
    'of two who go by the same settings of a queue with %d shards one wins',
    async (shards) => {
      const { prefix } = newQueue();
      const queues = [1, 2].map(() => new Queue(redis, 'q', { prefix, shards }));
      await queues[0]!.configure({ concurrency: 10 });
      const outcomes = await Promise.allSettled(
        queues.map((queue, index) => {
          const check = ({ concurrency }: { concurrency: number | undefined }): void => {
            if (concurrency !== 10) throw new Error('changed');
          };
          return queue.configure({ concurrency: 20 + index }, { check });
        }),
      );
      const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect((await queues[0]!.settings()).concurrency).toBe(20 + winner);
    },
  );
});

describe('pause', () => {
  test('no task is fetched until resume, also by later workers; due tasks wait, too', async () => {
    const { queue, work } = newQueue();
    const run: unknown[] = [];
    const handlers = { t: (payload: unknown) => void run.push(payload) };
    await work(handlers);
    await queue.enqueue('t', 1);
    await until(() => run.length === 1);
    await queue.pause();
    await queue.enqueueMany([
      { name: 't', payload: 2 },
      { name: 't', payload: 3, options: { delayMs: 1 } },
    ]);
    await work(handlers);
    await counted(queue, { ready: 2 });
    expect(run).toEqual([1]);
    await queue.resume();
    await until(() => run.length === 3);
    expect(new Set(run)).toEqual(new Set([1, 2, 3]));
  });

  test('a paused queue costs an idle worker no calls, however much is due', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.pause();
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload, options: { delayMs: 1 } })));
    await work({ t: () => 1 });
    await until(async () => (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1);
    const idleSince = async (): Promise<string> => {
      const [, idleUntil] = await redis.zrange(`${prefix}:queues:{q}:idle`, '0', '0', 'WITHSCORES');
      return String(idleUntil);
    };
    // Each fetch lists the worker as idle anew: here there is none during many round trips.
    const isQuiet = async (roundTrips: number): Promise<boolean> => {
      const before = await idleSince();
      for (let count = 0; count < roundTrips; count += 1) await queue.counts();
      return (await idleSince()) === before;
    };
    // The subscription of the worker may open late, and wakes it once.
    await until(() => isQuiet(50));
    expect(await isQuiet(200)).toBe(true);
  });
});

describe('concurrency of the queue', () => {
  test('holds for all workers together, and a slot that is freed is used at once', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ concurrency: 3 });
    const { began, open, handler, end } = stage();
    for (let index = 0; index < 3; index += 1) await work({ t: handler });
    await queue.enqueueMany(Array.from({ length: 8 }, (_, payload) => ({ name: 't', payload })));
    await until(() => open.size === 3);
    for (let left = 8; left > 0; left -= 1) {
      await until(async () => open.size === Math.min(3, left) && (await queue.counts()).active === open.size);
      end([...open][0]);
    }
    await counted(queue, { succeeded: 8 });
    expect(began).toHaveLength(8);
  });

  test('null removes it, and waiting tasks start at once', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ concurrency: 1 });
    const { open, handler, end } = stage();
    await work({ t: handler });
    await queue.enqueueMany(Array.from({ length: 4 }, (_, payload) => ({ name: 't', payload })));
    await until(() => open.size === 1);
    await queue.configure({ concurrency: null });
    await until(() => open.size === 4);
    expect(await queue.counts()).toMatchObject({ active: 4, ready: 0 });
    for (const payload of Array.from(open)) end(payload);
  });
});

describe('rate of the queue', () => {
  test('no window of the period has more starts than the limit allows, and none is left unused', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ rate: { limit: 20, periodMs: 1_000, burst: 4 } });
    await queue.enqueueMany(Array.from({ length: 24 }, (_, payload) => ({ name: 't', payload })));
    const startedAt: number[] = [];
    const begin = (await serverNow(redis)) * 1_000;
    const note = async (_: unknown, { id }: { id: string }): Promise<void> => {
      // The token of an attempt is the server's time at which it was taken, in µs, modulo 2^32.
      const mark = await redis.hgetBuffer(
        `${prefix}:queues:{q}:attempts`,
        Buffer.from(id.replaceAll('-', ''), 'hex'),
      );
      startedAt.push(((mark!.readUInt32BE(1) - (begin % 2 ** 32) + 2 ** 32) % 2 ** 32) / 1_000);
    };
    await work({ t: note });
    await work({ t: note });
    await until(() => startedAt.length === 24);
    startedAt.sort((a, b) => a - b);
    for (const [index, at] of startedAt.entries()) {
      const within = startedAt.slice(index).filter((other) => other < at + 1_000).length;
      expect(within).toBeLessThanOrEqual(20 + 4 - 1);
    }
    // Four at once, in the first call that finds them, then one each 50 ms.
    expect(startedAt[3]).toBe(startedAt[0]);
    expect(startedAt[23]! - startedAt[0]!).toBeGreaterThanOrEqual(20 * 50 - 1);
  });
});

describe('maxTasks', () => {
  test('a full queue refuses, and takes again when there is room', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ maxTasks: 3 });
    const stored = await Promise.allSettled(
      [1, 2, 3, 4, 5].map((n) => queue.enqueue('t', n, { id: `t${n}` })),
    );
    expect(stored.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(stored[3]).toMatchObject({ reason: { code: 'ERR_QUEUE_FULL', maxTasks: 3 } });
    expect(await queue.counts()).toMatchObject({ ready: 3 });
    // A stored task is a duplicate, not one too many.
    expect(await queue.enqueue('t', 1, { id: 't1' })).toEqual({ id: 't1', isDuplicate: true });
    await work({ t: () => 1 }, { keepSucceeded: 0 });
    await counted(queue, { ready: 0 });
    await until(async () => (await redis.hlen(`${prefix}:queues:{q}:tasks`)) === 0);
    await expect(queue.enqueue('t', 4, { id: 't4' })).resolves.toMatchObject({ isDuplicate: false });
  });
});

describe('dedupMs', () => {
  test('an id is refused for its window, though its task is gone; after that it is new', async () => {
    const { queue, prefix, work } = newQueue();
    await work({ t: () => 1 }, { keepSucceeded: 0 });
    const options = { id: 'order 7', dedupMs: 600_000 };
    expect((await queue.enqueue('t', 1, options)).isDuplicate).toBe(false);
    await until(async () => (await queue.get('order 7')) === null);
    expect((await queue.enqueue('t', 1, options)).isDuplicate).toBe(true);
    // Also for who names no window.
    expect((await queue.enqueue('t', 1, { id: 'order 7' })).isDuplicate).toBe(true);
    const key = `${prefix}:queues:{q}:dedupIds`;
    const [member] = await redis.zrangeBuffer(key, '0', '0');
    await redis.zadd(key, 1, member!);
    expect((await queue.enqueue('t', 1, { id: 'order 7' })).isDuplicate).toBe(false);
    expect(await redis.zcard(key)).toBe(0);
  });

  test.each([
    [{ dedupMs: 5 }, 'dedupMs needs an id'],
    [{ id: 'a', dedupMs: 0 }, 'dedupMs'],
    [{ id: 'a', dedupMs: NaN }, 'dedupMs'],
    [{ id: 'a', dedupMs: '5' }, 'dedupMs'],
  ])('%j is refused', async (options, message) => {
    const { queue } = newQueue();
    await expect(queue.enqueue('t', 1, options as object)).rejects.toThrow(message);
  });
});

describe('configure', () => {
  test.each([
    [{ concurrency: 0 }, RangeError, 'concurrency'],
    [{ concurrency: 1.5 }, RangeError, 'concurrency'],
    [{ concurrency: '5' }, TypeError, 'concurrency'],
    [{ rate: { limit: 0, periodMs: 1 } }, RangeError, 'rate.limit'],
    [{ rate: { limit: 1, periodMs: 0 } }, RangeError, 'rate.periodMs'],
    [{ rate: { limit: 1, periodMs: 1, burst: 2 } }, RangeError, 'rate.burst'],
    [{ rate: 5 }, TypeError, 'rate'],
    [{ groups: { concurrency: -1 } }, RangeError, 'groups.concurrency'],
    [{ groups: { rate: { limit: NaN, periodMs: 1 } } }, RangeError, 'groups.rate.limit'],
    [{ groups: 1 }, TypeError, 'groups'],
    [{ maxTasks: 0 }, RangeError, 'maxTasks'],
    [{ keepEvents: -1 }, RangeError, 'keepEvents'],
    [null, TypeError, 'limits'],
  ])('%j is refused, and changes nothing', async (limits, type, option) => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 1);
    const refused = queue.configure(limits as object);
    await expect(refused).rejects.toThrow(type);
    await expect(refused).rejects.toThrow(option);
    expect(await redis.get(`${prefix}:queues:{q}:settings`)).toBe('high,medium,low');
  });
});
