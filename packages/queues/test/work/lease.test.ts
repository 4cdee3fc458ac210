import { describe, expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import type { Attempt } from '../../src/work/attempt.js';
import { launch } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { newRun } from '../fixture/new-run.js';
import { heldRenewals } from '../fixture/paused-timers.js';
import { counted, reached, until } from '../fixture/until.js';

describe('the lease', () => {
  const renewals = heldRenewals();

  test('is renewed while the handler runs', async () => {
    const { queue, open } = await newRun();
    const { id } = await queue.enqueue('t', 1);
    await reached(queue, id, 'active');
    const leaseUntil = async (): Promise<number> => (await queue.get(id))!.leaseUntil!;
    for (let round = 0; round < 3; round += 1) {
      const before = await leaseUntil();
      // The timer is set again when the answer has come. In the same ms, a renewal changes nothing.
      await until(async () => renewals.fire() >= 0 && (await leaseUntil()) > before);
    }
    open();
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ attempt: 1 });
  });

  test('renew prolongs it at once, and rejects when the attempt is over', async () => {
    const { queue, contexts, open } = await newRun();
    const { id } = await queue.enqueue('t', 1);
    await until(() => contexts.length === 1);
    const { leaseUntil = 0 } = (await queue.get(id))!;
    // The lease is the server's time and a constant, so that another ms has to come.
    await until(async () => {
      await Promise.all(Array.from({ length: 3 }, () => contexts[0]!.renew()));
      return (await queue.get(id))!.leaseUntil! > leaseUntil;
    });
    open();
    await reached(queue, id, 'succeeded');
    await expect(contexts[0]!.renew()).rejects.toMatchObject({ code: 'ERR_ATTEMPT_ENDED', taskId: id });
  });

  test('taken away, the attempt is aborted at the next renewal, and its completion does not count', async () => {
    const { queue, keys, work } = newQueue();
    const errors: unknown[] = [];
    const reasons: unknown[] = [];
    await work(
      {
        t: async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          reasons.push(signal.reason);
          return 'too late';
        },
      },
      { concurrency: 1, onError: (error) => errors.push(error) },
    );
    const { id } = await queue.enqueue('t', 1);
    await reached(queue, id, 'active');
    await redis.del(keys.of.attempts, keys.of.active);
    expect(reasons).toEqual([]);
    await until(() => renewals.fire() > 0 || reasons.length > 0);
    await until(() => reasons.length === 1);
    expect(reasons).toEqual([expect.objectContaining({ code: 'ERR_LEASE_LOST', queue: 'q', taskId: id })]);
    expect(errors).toEqual(reasons);
    const other = await queue.enqueue('t', 2);
    await reached(queue, other.id, 'active');
    expect(await queue.get(id)).not.toHaveProperty('result');
  });

  test('a completion that is refused is reported', async () => {
    const { queue, keys, work } = newQueue();
    const errors: unknown[] = [];
    await work(
      { t: () => redis.del(keys.of.active, keys.of.attempts) },
      { onError: (error) => errors.push(error) },
    );
    const { id } = await queue.enqueue('t', 1);
    await until(() => errors.length === 1);
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_LEASE_LOST', taskId: id })]);
  });

  test('an id that is used again has other tokens: a late completion of its former life does not count', async () => {
    const { queue, keys, work } = newQueue();
    const errors: unknown[] = [];
    const doors = [gate(), gate(), gate()];
    const contexts: TaskContext[] = [];
    const t = async (_: unknown, context: TaskContext): Promise<string> => {
      const run = contexts.push(context);
      await doors[run - 1]!.passed;
      return `run ${run}`;
    };
    await work({ t }, { onError: (error) => errors.push(error) });
    const { attempts, active, tasks } = keys.of;
    for (let run = 1; run <= 3; run += 1) {
      await redis.del(attempts, active, tasks);
      await queue.enqueue('t', run, { id: 'a' });
      await until(() => contexts.length === run);
    }
    await expect(contexts[1]!.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', taskId: 'a' });
    expect(contexts[1]!.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST' });
    await contexts[2]!.renew();
    doors[0]!.open();
    await until(() => errors.length === 2);
    expect(errors).toEqual(Array(2).fill(expect.objectContaining({ code: 'ERR_LEASE_LOST', taskId: 'a' })));
    expect(await queue.get('a')).toMatchObject({ state: 'active' });
    doors[2]!.open();
    expect(await reached(queue, 'a', 'succeeded')).toMatchObject({ result: 'run 3' });
  });

  test('ended, the task runs again ahead of ready ones, or is dead after its last attempt', async () => {
    const { queue, prefix, keys, work } = newQueue();
    const { active } = keys.of;
    const never = new Promise<never>(() => undefined);
    const own = connect();
    await launch(own, 'q', { t: () => never }, { prefix, concurrency: 2, onError: () => undefined });
    await queue.enqueue('t', 'last', { id: 'last', attempts: 1 });
    await queue.enqueue('t', 'again', { id: 'again' });
    await counted(queue, { active: 2 });
    await queue.enqueue('t', 'ready');
    // It renews no lease any more.
    own.disconnect();
    for (const stored of await redis.zrangeBuffer(active, 0, '-1')) await redis.zadd(active, '1', stored);
    const run: [string, number][] = [];
    await work({ t: (payload, { attempt }) => run.push([payload, attempt]) }, { concurrency: 1 });
    await until(() => run.length === 2);
    expect(run).toEqual([
      ['again', 2],
      ['ready', 1],
    ]);
    expect(await queue.get('last')).toMatchObject({
      state: 'dead',
      attempt: 1,
      error: {
        code: 'ERR_LEASE_LOST',
        message: 'the lease ended: the worker died or lost its connection',
      },
    });
  });
});

const TASKS = 200;

/** By how much the clock of the server is ahead of `performance.now()`, at least, in ms. */
async function leastAhead(): Promise<number> {
  let least = -Infinity;
  for (let time = 0; time < 100; time += 1) {
    const [seconds, micros] = await redis.time();
    least = Math.max(least, Number(seconds) * 1_000 + Number(micros) / 1_000 - performance.now());
  }
  return least;
}

// The server counts in whole ms: a lease that was given at the end of one ends by almost 1 ms early.
test.each(['fetched from the queue', 'handed off with the wake-up'])(
  'no worker believes in a lease longer than the server does: tasks %s',
  async (how) => {
    const { queue, work } = newQueue();
    const left: number[] = [];
    const ahead = await leastAhead();
    const look = async (_: unknown, context: object): Promise<void> => {
      const { id, leaseEndsAt } = context as Attempt;
      const { leaseUntil } = (await queue.get(id))!;
      left.push(leaseUntil! - (leaseEndsAt + ahead));
    };
    const isHanded = how.startsWith('handed');
    const tasks = Array.from({ length: TASKS }, (_, payload) => ({ name: 'look' as const, payload }));
    if (!isHanded) await queue.enqueueMany(tasks);
    await work({ look }, { concurrency: 1 });
    for (const { name, payload } of isHanded ? tasks : []) {
      await queue.enqueue(name, payload);
      await until(() => left.length > payload);
    }
    await until(() => left.length === TASKS);
    expect(Math.min(...left)).toBeGreaterThanOrEqual(0);
  },
);
