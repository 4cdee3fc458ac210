import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { QueueKeys } from '../src/keys.js';
import { watched } from './commands-of.js';
import type { Sent } from './commands-of.js';
import { connect, freshPrefix } from '@mortise/test-kit';
import { launch } from './launch.js';
import { gate, until } from './until.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

function newQueue(): { queue: Queue<Tasks>; prefix: string; keys: QueueKeys } {
  const prefix = freshPrefix();
  return { queue: new Queue(redis, 'q', { prefix }), prefix, keys: new QueueKeys('q', prefix) };
}

async function areParked(keys: QueueKeys, count: number): Promise<void> {
  await until(async () => (await redis.zcard(keys.of.idle)) === count);
}

async function isQuiet(sent: readonly Sent[]): Promise<void> {
  // Nothing seen yet means that MONITOR is behind, not that nobody has called.
  await until(() => sent.length > 0 && performance.now() - sent.at(-1)!.at > 100);
}

/** Who keeps the time, and until when it sleeps. */
async function timekeeper(keys: QueueKeys): Promise<{ due: number; channel: string }> {
  const [due, channel = ''] = ((await redis.get(keys.of.timekeeper)) ?? '').split(' ');
  return { due: Number(due), channel };
}

/** What nobody was told of would take 3 s, until a re-check. The rest is leeway for a busy machine. */
const SOON_MS = 1_500;
const never = new Promise<never>(() => undefined);

describe('waking', () => {
  test('an idle worker starts a task at once', async () => {
    const { queue, prefix, keys } = newQueue();
    let startedAt = 0;
    await launch(redis, 'q', { t: () => void (startedAt = performance.now()) }, { prefix });
    for (let round = 0; round < 20; round += 1) {
      await areParked(keys, 1);
      startedAt = 0;
      const sentAt = performance.now();
      await queue.enqueue('t', 1);
      await until(() => startedAt > 0);
      expect(startedAt - sentAt).toBeLessThan(SOON_MS);
    }
  });

  test('an idle worker looks again less than three times in two seconds, at the shortest lease', async () => {
    const { prefix, keys } = newQueue();
    const { client, sent } = await watched();
    await launch(client, 'q', {}, { prefix, leaseMs: 1_000 });
    await areParked(keys, 1);
    await until(() => sent.at(-1)?.what === 'worker.exchange');
    const begin = sent.length - 1;
    await until(() => sent.length === begin + 3);
    expect(sent.slice(begin).map(({ what }) => what)).toEqual(Array(3).fill('worker.exchange'));
    const [first, second, third] = sent.slice(begin).map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeGreaterThan(740);
    expect(third - second).toBeGreaterThan(740);
  });

  test('one enqueue wakes one of many parked workers', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, sent } = await watched();
    const run: number[] = [];
    for (let n = 0; n < 50; n += 1) await launch(client, 'q', { t: () => void run.push(n) }, { prefix });
    await areParked(keys, 50);
    await isQuiet(sent);
    sent.length = 0;
    await queue.enqueue('t', 1);
    await until(() => run.length === 1);
    await areParked(keys, 50);
    // It takes the task, and says that it is done.
    expect(sent.filter(({ what }) => what === 'worker.exchange').length).toBeLessThanOrEqual(4);
    expect((await queue.counts()).succeeded).toBe(1);
  });

  test('a full worker passes the rest on to parked ones', async () => {
    const { queue, prefix, keys } = newQueue();
    let active = 0;
    const t = (): Promise<never> => {
      active += 1;
      return never;
    };
    for (let n = 0; n < 8; n += 1) await launch(redis, 'q', { t }, { prefix, concurrency: 2 });
    await areParked(keys, 8);
    const at = performance.now();
    await queue.enqueueMany(Array.from({ length: 16 }, () => ({ name: 't', payload: 1 })));
    await until(() => active === 16);
    expect(performance.now() - at).toBeLessThan(SOON_MS);
    expect(await redis.exists(keys.of.idle)).toBe(0);
  });

  test('a worker that has stopped is not woken in place of another', async () => {
    const { queue, prefix, keys } = newQueue();
    const first = await launch(redis, 'q', { t: () => 1 }, { prefix });
    await areParked(keys, 1);
    let startedAt = 0;
    await launch(redis, 'q', { t: () => void (startedAt = performance.now()) }, { prefix });
    await areParked(keys, 2);
    await first.stop();
    expect(await redis.zcard(keys.of.idle)).toBe(1);
    const at = performance.now();
    await queue.enqueue('t', 1);
    await until(() => startedAt > 0);
    expect(startedAt - at).toBeLessThan(SOON_MS);
  });

  test('a worker that was killed is not woken in place of another', async () => {
    const { queue, prefix, keys } = newQueue();
    let startedAt = 0;
    await launch(redis, 'q', { t: () => void (startedAt = performance.now()) }, { prefix });
    await areParked(keys, 1);
    // Parked for longer than the others, and until later than now, but nobody listens there.
    for (let n = 0; n < 10; n += 1)
      await redis.zadd(keys.of.idle, Date.now() + 1_000, keys.wakeChannel(`gone ${n}`));
    const at = performance.now();
    await queue.enqueue('t', 1);
    await until(() => startedAt > 0);
    expect(startedAt - at).toBeLessThan(SOON_MS);
    expect(await redis.zscore(keys.of.idle, keys.wakeChannel('gone 0'))).toBeNull();
  });

  test('a wake-up that overtakes the answer of a call counts', async () => {
    const { queue, prefix, keys } = newQueue();
    // A subscription on another connection, as with RESP2 and on Cluster, may be faster than the answer.
    const client = new Proxy(redis, {
      get: (target, property) => {
        if (property === 'callBuffer') {
          return async (command: string, args: string[]) => {
            const reply = await target.callBuffer(command, ...args);
            await pause(150);
            return reply;
          };
        }
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    let isDone = false;
    await launch(client, 'q', { t: () => void (isDone = true) }, { prefix, concurrency: 1 });
    await areParked(keys, 1);
    const at = performance.now();
    await queue.enqueue('t', 1);
    await until(() => isDone);
    expect(performance.now() - at).toBeLessThan(SOON_MS);
  });

  test('a lost wake-up is made good by the re-check', async () => {
    const { queue, prefix, keys } = newQueue();
    let isDone = false;
    await launch(redis, 'q', { t: () => void (isDone = true) }, { prefix, leaseMs: 1_000 });
    await areParked(keys, 1);
    await redis.del(keys.of.idle);
    const at = performance.now();
    await queue.enqueue('t', 1);
    await until(() => isDone);
    expect(performance.now() - at).toBeLessThan(2_500);
  });
});

describe('keeping the time', () => {
  test('delayed tasks start within some ms of their time, also one that is enqueued later and due earlier', async () => {
    const { queue, prefix, keys } = newQueue();
    const late: number[] = [];
    const t = (due: number): void => void late.push(performance.now() - due);
    await launch(redis, 'q', { t }, { prefix });
    await launch(redis, 'q', { t }, { prefix });
    await areParked(keys, 2);
    for (const delayMs of [60_000, 30_000, 150, 100, 50]) {
      await queue.enqueue('t', performance.now() + delayMs, { delayMs });
    }
    await until(() => late.length === 3);
    expect(Math.min(...late)).toBeGreaterThan(-2);
    expect(Math.max(...late)).toBeLessThan(SOON_MS);
  });

  test('also one that comes when nothing was due any more', async () => {
    const { queue, prefix, keys } = newQueue();
    const late: number[] = [];
    const t = (due: number): void => void late.push(performance.now() - due);
    for (let n = 0; n < 2; n += 1) await launch(redis, 'q', { t }, { prefix });
    for (let round = 1; round <= 4; round += 1) {
      await areParked(keys, 2);
      await queue.enqueue('t', performance.now() + 50, { delayMs: 50 });
      await until(() => late.length === round);
      await until(async () => (await queue.counts()).succeeded === round);
    }
    expect(Math.max(...late)).toBeLessThan(SOON_MS);
    // The keeper is gone, and what it was waiting for is past, or later.
    for (const due of [Date.now() - 1_000, Date.now() + 60_000]) {
      await areParked(keys, 2);
      await redis.set(keys.of.timekeeper, `${due} ${keys.wakeChannel('gone')}`);
      const count = late.length;
      await queue.enqueue('t', performance.now() + 50, { delayMs: 50 });
      await until(() => late.length > count);
    }
    expect(Math.max(...late)).toBeLessThan(SOON_MS);
  });

  test('one worker keeps the time of all', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, sent } = await watched();
    for (let n = 0; n < 10; n += 1) await launch(client, 'q', { t: () => 1 }, { prefix });
    await areParked(keys, 10);
    await isQuiet(sent);
    sent.length = 0;
    await queue.enqueue('t', 1, { delayMs: 100 });
    await until(async () => (await queue.counts()).succeeded === 1);
    // Woken to keep the time, at that time, and done.
    expect(sent.filter(({ what }) => what === 'worker.exchange').length).toBeLessThanOrEqual(5);
  });

  test('a keeper that becomes full hands the time over', async () => {
    const { queue, prefix, keys } = newQueue();
    let startedAt = 0;
    const handlers = { wait: () => never, t: () => void (startedAt = performance.now()) };
    for (let n = 0; n < 2; n += 1) await launch(redis, 'q', handlers, { prefix, concurrency: 1 });
    await areParked(keys, 2);
    const due = performance.now() + 300;
    await queue.enqueue('t', 1, { delayMs: 300 });
    await until(async () => (await timekeeper(keys)).channel !== '');
    const { channel } = await timekeeper(keys);
    // The other one leaves the parked for a moment, so that the keeper is woken for the task that fills it.
    const other = (await redis.zrange(keys.of.idle, 0, '-1')).find((parked) => parked !== channel);
    await redis.zrem(keys.of.idle, other!);
    await redis.zadd(keys.of.idle, Date.now() + 4_000, other!);
    await redis.zadd(keys.of.idle, Date.now() + 1_000, channel);
    await queue.enqueue('wait', 1, { priority: 'high' });
    await until(async () => (await timekeeper(keys)).channel === other);
    await until(() => startedAt > 0);
    expect(startedAt - due).toBeLessThan(SOON_MS);
  });

  test('a keeper that stops hands the time over', async () => {
    const { queue, prefix, keys } = newQueue();
    let startedAt = 0;
    const handlers = { t: () => void (startedAt = performance.now()) };
    const first = await launch(redis, 'q', handlers, { prefix });
    await areParked(keys, 1);
    const due = performance.now() + 300;
    await queue.enqueue('t', 1, { delayMs: 300 });
    await until(async () => (await timekeeper(keys)).channel === keys.wakeChannel(first.id));
    const second = await launch(redis, 'q', handlers, { prefix });
    await areParked(keys, 2);
    await first.stop();
    await until(async () => (await timekeeper(keys)).channel === keys.wakeChannel(second.id));
    await until(() => startedAt > 0);
    expect(startedAt - due).toBeLessThan(SOON_MS);
  });

  test('a keeper that is gone is replaced by the next look of another', async () => {
    const { queue, prefix, keys } = newQueue();
    let isDone = false;
    await launch(redis, 'q', { t: () => void (isDone = true) }, { prefix, leaseMs: 1_000 });
    await areParked(keys, 1);
    const gone = keys.wakeChannel('gone');
    await redis.zadd(keys.of.idle, Date.now() + 60_000, gone);
    await redis.set(keys.of.timekeeper, `${Date.now() + 200} ${gone}`);
    const at = performance.now();
    await queue.enqueue('t', 1, { delayMs: 300 });
    await until(() => isDone);
    expect(performance.now() - at).toBeLessThan(2_500);
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
    await areParked(keys, 2);
    const stopped = first.stop();
    await areParked(keys, 1);
    await until(async () => (await timekeeper(keys)).channel === keys.wakeChannel(second.id));
    const failedAt = performance.now();
    door.open();
    await stopped;
    await until(() => attempts.length === 2);
    expect(attempts[1]! - failedAt).toBeLessThan(SOON_MS);
  });
});

describe('several queues', () => {
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
    const at = performance.now();
    await until(() => run.length === 3);
    expect(performance.now() - at).toBeLessThan(SOON_MS);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThan(10);
    expect(String(errors[0])).toContain('WRONGTYPE');
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
    await areParked(keys[0]!, 1);
    await areParked(keys[1]!, 1);
    await queues[1]!.enqueueMany([0, 1].map((payload) => ({ name: 't', payload })));
    await until(() => run.length === 1);
    await queues[0]!.enqueue('t', 'urgent');
    await until(async () => (await redis.zcard(keys[0]!.of.idle)) === 0);
    const at = performance.now();
    doors[0]!.open();
    await until(() => run.length === 3);
    expect(performance.now() - at).toBeLessThan(SOON_MS);
    expect(run).toEqual([0, 'urgent', 1]);
    doors[1]!.open();
    await until(async () => (await queues[1]!.counts()).succeeded === 2);
  });

  test('so does one whose task was taken away, to any queue', async () => {
    const { prefix, queues, keys } = newQueues('a', 'b');
    const run: string[] = [];
    const t = async (payload: string, { signal }: TaskContext): Promise<void> => {
      run.push(payload);
      if (payload === 'lost') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const errors: unknown[] = [];
    await launch(
      redis,
      ['a', 'b'],
      { t },
      { prefix, concurrency: 1, leaseMs: 1_000, onError: (error) => errors.push(error) },
    );
    await areParked(keys[1]!, 1);
    await queues[0]!.enqueue('t', 'lost');
    await until(() => run.length === 1);
    await queues[1]!.enqueue('t', 'other');
    await redis.del(keys[0]!.of.active, keys[0]!.of.attempts);
    await until(() => errors.length === 1);
    const at = performance.now();
    await until(() => run.length === 2);
    expect(performance.now() - at).toBeLessThan(500);
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
    await until(() => done === 600, 10_000);
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
  const exchanges = sent.filter(({ what }) => what === 'worker.exchange').length;
  expect(exchanges).toBeGreaterThanOrEqual(3);
  expect(exchanges).toBeLessThanOrEqual(7);
  door.open();
  await until(async () => (await queue.counts()).succeeded === 60);
});

test('more slots and settlements than one call carries', async () => {
  const { queue, prefix } = newQueue();
  const door = gate();
  let active = 0;
  const t = async (): Promise<void> => {
    active += 1;
    await door.passed;
  };
  await launch(redis, 'q', { t }, { prefix, concurrency: 2_500 });
  await queue.enqueueMany(Array.from({ length: 3_000 }, (_, payload) => ({ name: 't', payload })));
  await until(() => active === 2_500);
  expect(await queue.counts()).toMatchObject({ active: 2_500, ready: 500 });
  door.open();
  await until(async () => (await queue.counts()).active + (await queue.counts()).ready === 0);
  expect(active).toBe(3_000);
});
