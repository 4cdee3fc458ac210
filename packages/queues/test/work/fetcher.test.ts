import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { QueueKeys } from '../../src/keys.js';
import { Shard } from '../../src/shard/shard.js';
import { fetchAndAck } from '../../src/work/fetch-and-ack.js';
import { watched } from '../fixture/commands-of.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { freshPrefix, gate } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, until } from '../fixture/until.js';

async function areIdle(keys: QueueKeys, count: number): Promise<void> {
  await until(async () => (await redis.zcard(keys.of.idle)) === count);
}

/** The worker that keeps the time, and the instant until which it sleeps. */
async function timekeeper(keys: QueueKeys): Promise<{ due: number; channel: string }> {
  const [due, , , channel = ''] = ((await redis.get(keys.of.timekeeper)) ?? '').split(' ');
  return { due: Number(due), channel };
}

/** The re-check of who was not woken in time would come later. */
const SOON_MS = 1_500;
const never = new Promise<never>(() => undefined);

describe('waking', () => {
  const rechecks = heldRechecks();

  test('an idle worker starts a task at once', async () => {
    const { queue, keys, work } = newQueue();
    const run: number[] = [];
    await work({ t: (round) => void run.push(round) });
    for (let round = 0; round < 20; round += 1) {
      await areIdle(keys, 1);
      await queue.enqueue('t', round);
      await until(() => run.length > round);
    }
    expect(run).toEqual(Array.from({ length: 20 }, (_, round) => round));
  });

  test('of two idle workers each looks again less than three times in two seconds, at the shortest lease', async () => {
    const { prefix, keys, work } = newQueue();
    const { client, sent, quiet } = await watched();
    await work({ t: () => 1 });
    await areIdle(keys, 1);
    await launch(client, 'q', { t: () => 1 }, { prefix, leaseMs: 1_000 });
    await areIdle(keys, 2);
    await quiet();
    const begin = sent.findLastIndex(({ what }) => what === 'fetcher.fetch-and-ack');
    await until(() => sent.length >= begin + 3);
    const looks = sent.slice(begin, begin + 3);
    expect(looks.map(({ what }) => what)).toEqual(Array(3).fill('fetcher.fetch-and-ack'));
    const [first, second, third] = looks.map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeGreaterThan(740);
    expect(third - second).toBeGreaterThan(740);
  });

  test('an idle worker that is alone, or one of many, is quiet for 20 s', async () => {
    const shard = new Shard(redis, 'q', freshPrefix());
    const kept = { keepSucceeded: 1, keepSucceededMs: 1, keepDead: 1 };
    const look = async (name: string): Promise<number> => {
      const member = shard.keys.idleMember(name);
      const request = {
        want: 1,
        leaseMs: 60_000,
        idleMs: 21_000,
        recheckMs: 4_000,
        keepsTime: true,
        acks: [],
      };
      return (await fetchAndAck(shard, kept, { ...request, member })).sleepMs;
    };
    const sleeps: number[] = [];
    for (const member of ['a', 'b', 'c', 'd', 'e', 'f']) sleeps.push(await look(member));
    expect(sleeps).toEqual([-20_000, -4_000, -8_000, -12_000, -16_000, -20_000]);
  });

  test('one enqueue wakes one of many idle workers', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, sent, quiet } = await watched();
    const run: number[] = [];
    for (let n = 0; n < 50; n += 1) await launch(client, 'q', { t: () => void run.push(n) }, { prefix });
    await areIdle(keys, 50);
    await quiet();
    sent.length = 0;
    await queue.enqueue('t', 1);
    await until(() => run.length === 1);
    await areIdle(keys, 50);
    await quiet();
    // It takes the task, and says that it is done.
    expect(sent.filter(({ what }) => what === 'fetcher.fetch-and-ack').length).toBeLessThanOrEqual(4);
    expect((await queue.counts()).succeeded).toBe(1);
  });

  test('a full worker passes the rest on to idle ones', async () => {
    const { queue, keys, work } = newQueue();
    let active = 0;
    const t = (): Promise<never> => {
      active += 1;
      return never;
    };
    for (let n = 0; n < 8; n += 1) await work({ t }, { concurrency: 2 });
    await areIdle(keys, 8);
    await queue.enqueueMany(Array.from({ length: 16 }, () => ({ name: 't', payload: 1 })));
    await until(() => active === 16);
    expect(await redis.exists(keys.of.idle)).toBe(0);
  });

  test('a stopped worker is not woken in place of another', async () => {
    const { queue, keys, work } = newQueue();
    const first = await work({ t: () => 1 });
    await areIdle(keys, 1);
    let isStarted = false;
    await work({ t: () => void (isStarted = true) });
    await areIdle(keys, 2);
    await first.stop();
    expect(await redis.zcard(keys.of.idle)).toBe(1);
    await queue.enqueue('t', 1);
    await until(() => isStarted);
  });

  test('a killed worker is not woken in place of another', async () => {
    const { queue, keys, work } = newQueue();
    let isStarted = false;
    await work({ t: () => void (isStarted = true) });
    await areIdle(keys, 1);
    // Idle for longer than the others, and until later than now, but nobody listens there.
    for (let n = 0; n < 10; n += 1)
      await redis.zadd(keys.of.idle, Date.now() + 1_000, keys.idleMember(`gone ${n}`));
    await queue.enqueue('t', 1);
    await until(() => isStarted);
    expect(await redis.zscore(keys.of.idle, keys.idleMember('gone 0'))).toBeNull();
  });

  test('a wake-up that overtakes the answer of a call counts', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, quiet } = await watched();
    let held: Promise<void> | undefined;
    // A subscription on another connection, as with RESP2 and on Cluster, may be faster than the answer.
    const slow = new Proxy(client, {
      get: (target, property) => {
        if (property === 'callBuffer') {
          return async (command: string, args: string[]) => {
            const reply = await target.callBuffer(command, ...args);
            await held;
            return reply;
          };
        }
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const run: unknown[] = [];
    const t = (payload: unknown): Promise<never> => {
      run.push(payload);
      return never;
    };
    await launch(slow, 'q', { t }, { prefix, concurrency: 2 });
    await areIdle(keys, 1);
    await quiet();
    const door = gate();
    held = door.passed;
    await queue.enqueue('t', 1);
    // The server lists the worker as idle again, as it takes less than it could.
    await counted(queue, { active: 1 });
    await queue.enqueue('t', 2);
    await quiet();
    held = undefined;
    door.open();
    await until(() => run.length === 2);
    expect(run).toEqual([1, 2]);
  });

  test('a lost wake-up is made good by the re-check', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, quiet } = await watched();
    let isDone = false;
    await launch(client, 'q', { t: () => void (isDone = true) }, { prefix });
    await areIdle(keys, 1);
    await quiet();
    await redis.del(keys.of.idle);
    await queue.enqueue('t', 1);
    await quiet();
    expect(isDone).toBe(false);
    expect(rechecks.fire()).toBe(1);
    await until(() => isDone);
  });
});

describe('keeping the time', () => {
  const rechecks = heldRechecks();

  test('delayed tasks start within some ms of their time, also one that is enqueued later and due earlier', async () => {
    const { queue, keys, work } = newQueue();
    const late: number[] = [];
    const due: [string, number][] = [];
    const t = (at: number): void => void late.push(performance.now() - at);
    await work({ t });
    await work({ t });
    await areIdle(keys, 2);
    for (const delayMs of [60_000, 30_000, 150, 100, 50]) {
      const { id } = await queue.enqueue('t', performance.now() + delayMs, { delayMs });
      due.push([id, (await queue.get(id))!.runAt ?? 0]);
    }
    await counted(queue, { succeeded: 3 });
    expect(Math.min(...late)).toBeLessThan(SOON_MS);
    for (const [id, runAt] of due.slice(2)) {
      // In whole ms, one of the two is rounded down, the other up.
      expect((await queue.get(id))!.finishedAt).toBeGreaterThanOrEqual(runAt - 1);
    }
  });

  test('also one that comes when nothing was due any more', async () => {
    const { queue, keys, work } = newQueue();
    const late: number[] = [];
    const t = (due: number): void => void late.push(performance.now() - due);
    for (let n = 0; n < 2; n += 1) await work({ t });
    for (let round = 1; round <= 4; round += 1) {
      await areIdle(keys, 2);
      await queue.enqueue('t', performance.now() + 50, { delayMs: 50 });
      await until(() => late.length === round);
      await counted(queue, { succeeded: round });
    }
    // The keeper is gone, and what it was waiting for is past, or later.
    for (const due of [Date.now() - 1_000, Date.now() + 60_000]) {
      await areIdle(keys, 2);
      await redis.set(keys.of.timekeeper, `${due} ${keys.idleMember('gone')}`);
      const count = late.length;
      await queue.enqueue('t', performance.now() + 50, { delayMs: 50 });
      await until(() => late.length > count);
    }
    expect(Math.min(...late)).toBeLessThan(SOON_MS);
  });

  test('one worker keeps the time of all', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, sent, quiet } = await watched();
    for (let n = 0; n < 10; n += 1) await launch(client, 'q', { t: () => 1 }, { prefix });
    await areIdle(keys, 10);
    await quiet();
    sent.length = 0;
    await queue.enqueue('t', 1, { delayMs: 100 });
    await counted(queue, { succeeded: 1 });
    await quiet();
    // Woken to keep the time, at that time, and done.
    expect(sent.filter(({ what }) => what === 'fetcher.fetch-and-ack').length).toBeLessThanOrEqual(5);
  });

  test('a keeper that becomes full hands the time over', async () => {
    const { queue, keys, work } = newQueue();
    let isStarted = false;
    const handlers = { wait: () => never, t: () => void (isStarted = true) };
    for (let n = 0; n < 2; n += 1) await work(handlers, { concurrency: 1 });
    await areIdle(keys, 2);
    await queue.enqueue('t', 1, { delayMs: 500 });
    const channel = await until(async () => (isStarted ? 'nobody' : (await timekeeper(keys)).channel));
    // The other one leaves the idle workers for a moment, so that the keeper is woken for the task that fills it.
    const members = await redis.zrange(keys.of.idle, 0, '-1');
    const [keeper, other] = members.toSorted((a) => (a.endsWith(channel) ? -1 : 1)) as [string, string];
    await redis.zrem(keys.of.idle, other);
    await redis.zadd(keys.of.idle, Date.now() + 40_000, other);
    await redis.zadd(keys.of.idle, Date.now() + 20_000, keeper);
    await queue.enqueue('wait', 1, { priority: 'high' });
    await until(async () => isStarted || other.endsWith((await timekeeper(keys)).channel));
    expect(await until(() => isStarted)).toBe(true);
  });

  test('a keeper that stops hands the time over', async () => {
    const { queue, keys, work } = newQueue();
    let isStarted = false;
    const handlers = { t: () => void (isStarted = true) };
    const keeps = async ({ id }: { id: string }): Promise<boolean> =>
      isStarted || (await timekeeper(keys)).channel === keys.wakeChannel(id);
    const first = await work(handlers);
    await areIdle(keys, 1);
    await queue.enqueue('t', 1, { delayMs: 500 });
    await until(() => keeps(first));
    const second = await work(handlers);
    await areIdle(keys, 2);
    await first.stop();
    await until(() => keeps(second));
    expect(await until(() => isStarted)).toBe(true);
  });

  test('a keeper that is gone is replaced by the next look of another', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, quiet } = await watched();
    let isDone = false;
    const worker = await launch(client, 'q', { t: () => void (isDone = true) }, { prefix });
    await areIdle(keys, 1);
    await quiet();
    const gone = keys.idleMember('gone');
    await redis.zadd(keys.of.idle, Date.now() + 60_000, gone);
    await redis.set(keys.of.timekeeper, `${Date.now() + 30_000} ${gone}`);
    const { id } = await queue.enqueue('t', 1, { delayMs: 60_000 });
    // Nobody was notified: it is the affair of the keeper, whose time comes first, and then is past.
    expect((await timekeeper(keys)).channel).toBe(keys.wakeChannel('gone'));
    await redis.zrem(keys.of.idle, gone);
    await redis.zadd(keys.priorityKeys(3)[4]!, 'XX', Date.now() + 500, encodeTaskId(id));
    await quiet();
    expect(rechecks.fire()).toBe(1);
    await until(async () => isDone || (await timekeeper(keys)).channel === keys.wakeChannel(worker.id));
    await until(() => isDone);
  });

  test('a retry that a stopping worker has set runs on time at an idle one', async () => {
    const { queue, prefix, keys } = newQueue();
    const attempts: number[] = [];
    const door = gate();
    const t = async (_: unknown, { attempt }: TaskContext): Promise<void> => {
      attempts.push(performance.now());
      if (attempt > 1) return;
      await door.passed;
      throw new Error('again');
    };
    const options = { prefix, backoff: { type: 'fixed', delayMs: 200, jitter: 0 } } as const;
    const first = await launch(redis, 'q', { t }, options);
    await queue.enqueue('t', 1);
    await until(() => attempts.length === 1);
    const second = await launch(redis, 'q', { t }, options);
    await areIdle(keys, 2);
    const stopped = first.stop();
    await areIdle(keys, 1);
    await until(async () => (await timekeeper(keys)).channel === keys.wakeChannel(second.id));
    door.open();
    await stopped;
    await until(() => attempts.length === 2);
    // The delay of the backoff has gone by.
    expect(attempts[1]! - attempts[0]!).toBeGreaterThan(195);
  });
});

describe('several queues', () => {
  heldRechecks();

  function newQueues(...names: string[]): { prefix: string; queues: Queue<Tasks>[]; keys: QueueKeys[] } {
    const prefix = freshPrefix();
    return {
      prefix,
      queues: names.map((name) => new Queue(redis, name, { prefix })),
      keys: names.map((name) => new QueueKeys(name, prefix)),
    };
  }

  test('an earlier queue that fails does not hold up later ones', async () => {
    const { prefix, queues, keys } = newQueues('a', 'b');
    await redis.set(keys[0]!.of.active, 'no sorted set');
    await queues[1]!.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    const run: unknown[] = [];
    const errors: unknown[] = [];
    await launch(
      redis,
      ['a', 'b'],
      { t: (payload) => void run.push(payload) },
      { prefix, concurrency: 1, onError: (error) => errors.push(error) },
    );
    await until(() => run.length === 3 && errors.length > 0);
    expect(String(errors[0])).toContain('WRONGTYPE');
    // Others are of the same failure: those of the first minute are reported once.
    expect(errors.length).toBe(new Set(errors.map(String)).size);
    await redis.del(keys[0]!.of.active);
    await queues[0]!.enqueue('t', 'healed');
    await until(() => run.length === 4);
    expect(run.at(-1)).toBe('healed');
  });

  test('a slot that becomes free goes to an earlier queue that was woken while there was none', async () => {
    const { prefix, queues, keys } = newQueues('a', 'b');
    const doors = [gate(), gate()];
    const run: unknown[] = [];
    const t = async (payload: number | string): Promise<void> => {
      run.push(payload);
      if (typeof payload === 'number') await doors[payload]!.passed;
    };
    await launch(redis, ['a', 'b'], { t }, { prefix, concurrency: 1 });
    await areIdle(keys[0]!, 1);
    await areIdle(keys[1]!, 1);
    await queues[1]!.enqueueMany([0, 1].map((payload) => ({ name: 't', payload })));
    await until(() => run.length === 1);
    await queues[0]!.enqueue('t', 'urgent');
    await until(async () => (await redis.zcard(keys[0]!.of.idle)) === 0);
    doors[0]!.open();
    await until(() => run.length === 3);
    expect(run).toEqual([0, 'urgent', 1]);
    doors[1]!.open();
    await counted(queues[1]!, { succeeded: 2 });
  });

  test('so does a worker that lost its task, to any queue', async () => {
    const { prefix, queues, keys } = newQueues('a', 'b');
    const run: string[] = [];
    let renew!: () => Promise<unknown>;
    const t = async (payload: string, context: TaskContext): Promise<void> => {
      run.push(payload);
      if (payload !== 'lost') return;
      renew = () => context.renew();
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    };
    const errors: unknown[] = [];
    await launch(
      redis,
      ['a', 'b'],
      { t },
      { prefix, concurrency: 1, onError: (error) => errors.push(error) },
    );
    await areIdle(keys[1]!, 1);
    await queues[0]!.enqueue('t', 'lost');
    await until(() => run.length === 1);
    await queues[1]!.enqueue('t', 'other');
    await redis.del(keys[0]!.of.active, keys[0]!.of.attempts);
    await expect(renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    await until(() => run.length === 2);
    expect(errors).toHaveLength(1);
    expect(run).toEqual(['lost', 'other']);
  });

  test('slots are shared by all queues', async () => {
    const { prefix, queues } = newQueues('a', 'b', 'c');
    let active = 0;
    let most = 0;
    let done = 0;
    const t = async (): Promise<void> => {
      active += 1;
      most = Math.max(most, active);
      await new Promise(setImmediate);
      active -= 1;
      done += 1;
    };
    await launch(redis, ['a', 'b', 'c'], { t }, { prefix, concurrency: 7 });
    await Promise.all(
      queues.flatMap((queue) => Array.from({ length: 200 }, (_, payload) => queue.enqueue('t', payload))),
    );
    await until(() => done === 600);
    expect(most).toBeLessThanOrEqual(7);
  });
});

test('records of more bytes than a reply should have come in several replies, in order', async () => {
  const { queue, prefix } = newQueue();
  const payload = 'x'.repeat(250_000);
  const headers = (n: number): Record<string, string> => ({ n: String(n) });
  for (let n = 0; n < 60; n += 1) await queue.enqueue('t', payload, { headers: headers(n) });
  const { client, sent } = await watched();
  const run: number[] = [];
  const door = gate();
  const t = async (_: unknown, context: TaskContext): Promise<void> => {
    run.push(Number(context.headers['n']));
    await door.passed;
  };
  await launch(client, 'q', { t }, { prefix, concurrency: 100 });
  await until(() => run.length === 60);
  expect(run).toEqual(Array.from({ length: 60 }, (_, n) => n));
  // 15 MB, of which a reply has 4 to 8.
  const exchanges = sent.filter(({ what }) => what === 'fetcher.fetch-and-ack').length;
  expect(exchanges).toBeGreaterThanOrEqual(3);
  expect(exchanges).toBeLessThanOrEqual(7);
  door.open();
  await counted(queue, { succeeded: 60 });
});

test('more slots and acks than one call carries', async () => {
  const { queue, work } = newQueue();
  const door = gate();
  let active = 0;
  const t = async (): Promise<void> => {
    active += 1;
    await door.passed;
  };
  await work({ t }, { concurrency: 2_500 });
  await queue.enqueueMany(Array.from({ length: 3_000 }, (_, payload) => ({ name: 't', payload })));
  await until(() => active === 2_500);
  expect(await queue.counts()).toMatchObject({ active: 2_500, ready: 500 });
  door.open();
  await until(async () => (await queue.counts()).active + (await queue.counts()).ready === 0);
  expect(active).toBe(3_000);
});
