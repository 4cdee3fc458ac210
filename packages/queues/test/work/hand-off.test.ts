import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import { decodeTaskId } from '../../src/task/task-id.js';
import type { EnqueueOptions } from '@mortise/queues';
import type { HandOff } from '../../src/work/hand-off.js';
import { decodeHandOff } from '../../src/work/hand-off.js';
import { launch } from '../fixture/launch.js';
import * as faults from '../fixture/faults.js';
import type { NewQueue } from '../fixture/new-queue.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { newRun } from '../fixture/new-run.js';
import { counted, reached, until } from '../fixture/until.js';

const LONG_MS = 60_000;
const SETTINGS = 'high,medium,low';
/** The lease of tasks that are handed off. */
const SHORT_LEASE_MS = 1_000;

interface Deaf {
  readonly received: Buffer[];
  readonly goIdle: (leaseMs?: number) => Promise<void>;
}

/** An idle worker that does nothing with the messages that it gets. */
async function deaf({ keys }: NewQueue, name = 'deaf'): Promise<Deaf> {
  const own = connect();
  const received: Buffer[] = [];
  const channel = keys.wakeChannel(name);
  own.on('messageBuffer', (_, message: Buffer) => received.push(message));
  await own.subscribe(channel);
  return {
    received,
    goIdle: async (leaseMs = SHORT_LEASE_MS) => {
      await redis.zadd(
        keys.of.idle,
        Date.now() + LONG_MS,
        leaseMs === 0 ? keys.idleMember(name) : keys.idleMember(name, { leaseMs, settings: SETTINGS }),
      );
    },
  };
}

function taskOf(message: Buffer): HandOff {
  return decodeHandOff(message.subarray(2));
}

/** Enqueues until a task is handed off: the first enqueue doesn't know yet that a worker is idle. */
async function handed(
  { queue, keys }: NewQueue,
  { received, goIdle }: Deaf,
  options: EnqueueOptions = {},
): Promise<{ id: string; message: Buffer }> {
  for (;;) {
    await goIdle();
    const { id } = await queue.enqueue('t', 1, options);
    await until(() => received.length > 0);
    const message = received.pop()!;
    if (message.length > 2) return { id, message };
    await redis.del(keys.of.tasks, keys.priorityKeys(3)[3]!);
  }
}

/** A queue, an idle worker, and the task that was handed off to it. */
async function newHanded(options: EnqueueOptions = {}) {
  const given = newQueue();
  const worker = await deaf(given);
  return { ...given, worker, ...(await handed(given, worker, options)) };
}

describe('a single task', () => {
  test('comes with the message that wakes a worker', async () => {
    const { queue, keys, id, message } = await newHanded({ attempts: 7 });
    const { task, nowMs } = taskOf(message);
    expect(decodeTaskId(task.storedId)).toBe(id);
    expect(await redis.hgetBuffer(keys.of.tasks, task.storedId)).toEqual(task.record);
    const leaseUntil = nowMs + SHORT_LEASE_MS;
    expect(await queue.get(id)).toMatchObject({ state: 'active', leaseUntil, attempt: 1, attempts: 7 });
    expect(await queue.counts()).toMatchObject({ ready: 0, active: 1 });
    expect(await redis.zcard(keys.of.idle)).toBe(0);
  });

  test('is run as its first attempt, and the worker is idle again', async () => {
    const { queue, keys, contexts, open } = await newRun();
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const { id } = await queue.enqueue('t', 1);
    await until(() => contexts.length === 1);
    const { state, leaseUntil } = (await queue.get(id))!;
    expect(state).toBe('active');
    expect(leaseUntil! - Date.now()).toBeGreaterThan(30_000);
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    open();
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ attempt: 1 });
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1]);
  });
});

describe('a message that is lost', () => {
  test('costs one attempt and the time of its lease', async () => {
    const { queue, work, id } = await newHanded({ attempts: 2 });
    const attempts: number[] = [];
    await work({ t: (_, { attempt }) => void attempts.push(attempt) });
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ attempt: 2 });
    expect(attempts).toEqual([2]);
  });

  test('comes too late: the task is not run again', async () => {
    const { queue, keys, work, message } = await newHanded();
    const runs: number[] = [];
    const t = (_: unknown, { attempt }: { attempt: number }): void => void runs.push(attempt);
    const worker = await work({ t }, { leaseMs: SHORT_LEASE_MS });
    await counted(queue, { succeeded: 1 });
    await redis.publish(keys.wakeChannel(worker.id), message);
    // The next task shows that the message has come.
    await queue.enqueue('t', 2);
    await counted(queue, { succeeded: 2 });
    expect(runs).toEqual([2, 1]);
  });
});

test('a message that comes twice runs its task once', async () => {
  const { queue, keys, work, message } = await newHanded();
  const runs: unknown[] = [];
  const worker = await work({ t: (payload) => void runs.push(payload) });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  for (const one of [message, message]) await redis.publish(keys.wakeChannel(worker.id), one);
  await counted(queue, { succeeded: 1 });
  // The next task shows that both messages have come.
  await queue.enqueue('t', 2);
  await counted(queue, { succeeded: 2 });
  expect(runs).toEqual([1, 2]);
});

test('a worker without a free slot gives it back', async () => {
  const { queue, keys, work } = newQueue();
  const release = gate();
  const started: [unknown, number][] = [];
  const t = async (payload: unknown, { attempt }: { attempt: number }): Promise<void> => {
    started.push([payload, attempt]);
    if (payload === 1) await release.passed;
  };
  const { id } = await work({ t }, { concurrency: 1 });
  await queue.enqueue('t', 1);
  await until(() => started.length === 1);
  await until(async () => (await redis.zcard(keys.of.idle)) === 0);
  await redis.zadd(
    keys.of.idle,
    Date.now() + LONG_MS,
    keys.idleMember(id, { leaseMs: LONG_MS, settings: SETTINGS }),
  );
  await queue.enqueue('t', 2, { attempts: 2 });
  await until(async () => (await queue.counts()).retrying + (await queue.counts()).ready === 1);
  release.open();
  await counted(queue, { succeeded: 2 });
  expect(started).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

test('a worker that was registered again before its last slot is taken gives the registration up', async () => {
  const { queue, keys, work, message } = await newHanded();
  const release = gate();
  const worker = await work({ t: () => release.passed }, { concurrency: 1 });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  await redis.publish(keys.wakeChannel(worker.id), message);
  await until(async () => (await redis.zcard(keys.of.idle)) === 0);
  expect(await queue.counts()).toMatchObject({ active: 1 });
  release.open();
  await counted(queue, { succeeded: 1 });
});

test('a worker whose slots wait for a call that is under way runs it behind that', async () => {
  const place = newQueue();
  const { prefix, queue, keys } = place;
  const client = connect();
  const release = gate();
  const started: [unknown, number][] = [];
  const t = (payload: unknown, { attempt }: { attempt: number }): void =>
    void started.push([payload, attempt]);
  const worker = await launch(client, 'q', { t }, { prefix });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  const callBuffer = client.callBuffer.bind(client);
  const sent: unknown[] = [];
  client.callBuffer = (async (...command: Parameters<typeof callBuffer>) => {
    sent.push(...(command[1] as unknown as unknown[]));
    await release.passed;
    return callBuffer(...command);
  }) as typeof callBuffer;
  await redis.publish(keys.wakeChannel(worker.id), 'w:');
  await until(() => sent.length > 0);
  await redis.del(keys.of.idle);
  const { message } = await handed(place, await deaf(place));
  await redis.publish(keys.wakeChannel(worker.id), message);
  // It has come before this is answered.
  await client.ping();
  expect(started).toEqual([]);
  release.open();
  await counted(queue, { succeeded: 1 });
  expect(started).toEqual([[1, 1]]);
  const givenBack = Buffer.alloc(5, 'B');
  givenBack.writeUInt32BE(taskOf(message).task.token, 1);
  expect(sent.filter((operand) => Buffer.isBuffer(operand) && operand.includes(givenBack))).toEqual([]);
});

test('a worker of several queues takes none, since others of them may go first', async () => {
  const { prefix, queue, keys } = newQueue();
  const worker = await launch(redis, ['q', 'other'], { t: () => undefined }, { prefix });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  expect(await redis.zrange(keys.of.idle, '0', '-1')).toEqual([keys.idleMember(worker.id)]);
  await queue.enqueue('t', 1);
  await counted(queue, { succeeded: 1 });
});

describe('is not handed off, but left to whoever asks', () => {
  /** The message for an idle worker after these calls. */
  async function handedTo(
    before: Before,
    enqueue: Before = ({ queue }) => queue.enqueue('t', 1),
    leaseMs = SHORT_LEASE_MS,
  ): Promise<boolean> {
    const given = await newHanded();
    const { received, goIdle } = given.worker;
    await before(given);
    await goIdle(leaseMs);
    await enqueue(given);
    const message = await until(() => received[0]!);
    return message.length > 2;
  }

  type Before = (given: NewQueue) => Promise<unknown>;

  const ready =
    (priority: number): Before =>
    ({ keys }) =>
      redis.rpush(keys.priorityKeys(3)[3 * priority]!, 'other');
  const due =
    (place: number, inMs = -1): Before =>
    ({ keys }) =>
      redis.zadd(keys.priorityKeys(3)[place]!, Date.now() + inMs, 'other');

  test.each<[string, boolean, Parameters<typeof handedTo>]>([
    ['nothing before it', true, [async () => undefined]],
    ['one of a lower priority', true, [ready(2)]],
    ['one of its own priority', false, [ready(1)]],
    ['one of a higher priority', false, [ready(0)]],
    ['a delayed one', true, [due(4, LONG_MS)]],
    ['a delayed one that is due, of a higher priority', false, [due(1)]],
    ['one that is to be tried again, of its own priority', false, [due(5)]],
    ['one that is to be tried again, of a lower priority', true, [due(8)]],
    ['a queue that uses more than the core', false, [({ queue }) => queue.cancel('none')]],
    ['a worker that takes none', false, [async () => undefined, undefined, 0]],
    [
      'a task with one attempt',
      false,
      [async () => undefined, ({ queue }) => queue.enqueue('t', 1, { attempts: 1 })],
    ],
    ['a big record', false, [async () => undefined, ({ queue }) => queue.enqueue('t', 'x'.repeat(5_000))]],
    [
      'several in one call',
      false,
      [
        async () => undefined,
        ({ queue }) => queue.enqueueMany([1, 2].map((payload) => ({ name: 't', payload }))),
      ],
    ],
  ])('%s: %s', async (_, isHanded, [before, enqueue, leaseMs]) => {
    const once = (): Promise<boolean> => handedTo(before, enqueue, leaseMs);
    // A busy machine may hold up the one call that counts.
    expect(await (isHanded ? until(once) : once())).toBe(isHanded);
  });

  test('where no worker was idle before', async () => {
    const given = await newHanded();
    const { queue, keys, worker } = given;
    await queue.enqueue('t', 1);
    await redis.del(keys.priorityKeys(3)[3]!);
    await worker.goIdle();
    await queue.enqueue('t', 2);
    await until(() => worker.received.length === 1);
    expect(worker.received[0]!.toString()).toBe('w:');
    await redis.del(keys.priorityKeys(3)[3]!);
    // Now somebody was.
    worker.received.pop();
    await handed(given, worker);
  });
});

test('a worker that expects other settings gets no task, and fetches it', async () => {
  const { queue, keys, worker } = await newHanded();
  await redis.zadd(
    keys.of.idle,
    Date.now() + LONG_MS,
    keys.idleMember('deaf', { leaseMs: SHORT_LEASE_MS, settings: 'a,b' }),
  );
  await queue.enqueue('t', 2);
  expect(await queue.counts()).toMatchObject({ ready: 1, active: 1 });
  await until(() => worker.received.length === 1);
  expect(worker.received[0]!.toString()).toBe('w:');
});

test('a process that does not know yet that the queue is paused hands nothing off', async () => {
  const { prefix, queue, worker } = await newHanded();
  await new Queue(redis, 'q', { prefix }).pause();
  await worker.goIdle();
  await queue.enqueue('t', 2);
  expect(await queue.counts()).toMatchObject({ ready: 1, active: 1 });
});

test('a worker that is gone is passed over, and the task stays ready when all are', async () => {
  const given = await newHanded();
  const { queue, keys, worker } = given;
  const nobody = async (inMs: number): Promise<void> => {
    await redis.zadd(
      keys.of.idle,
      Date.now() + inMs,
      keys.idleMember('nobody', { leaseMs: SHORT_LEASE_MS, settings: SETTINGS }),
    );
  };
  await nobody(LONG_MS / 2);
  await handed(given, worker);
  expect(await redis.zcard(keys.of.idle)).toBe(0);
  await nobody(LONG_MS);
  await queue.enqueue('t', 2);
  expect(await queue.counts()).toMatchObject({ ready: 1, active: 2 });
});

// A worker that listens to a replica, since it has not noticed a failover, receives messages but is not counted as a listener.
test('a task is handed to one worker, whoever else is notified', async () => {
  const [master, replica] = await Promise.all([faults.server(), faults.server()]);
  await replica.command('REPLICAOF', master.host, String(master.port));
  await until(async () => String(await replica.command('INFO', 'replication')).includes('link_status:up'));
  const { keys } = faults;
  const near = faults.connectTo(master);
  const queue = faults.queueOn(near);
  const received: Record<string, string[]> = { gone: [], here: [] };
  for (const [name, at] of Object.entries({ gone: replica, here: master })) {
    const own = faults.connectTo(at);
    own.on('message', (_, message) => received[name]!.push(message));
    await own.subscribe(keys.wakeChannel(name));
  }
  const isHandedOff = (messages: string[]): boolean => messages.some(({ length }) => length > 2);
  // The first enqueue doesn't know yet that a worker is idle.
  for (let time = 0; time < 20 && !Object.values(received).some(isHandedOff); time += 1) {
    await near.del(keys.of.tasks, keys.of.active, keys.priorityKeys(3)[3]!);
    const idleUntil = Date.now() + LONG_MS;
    const handOff = { leaseMs: LONG_MS, settings: SETTINGS };
    await near.zadd(
      keys.of.idle,
      idleUntil,
      keys.idleMember('gone', handOff),
      idleUntil + 1,
      keys.idleMember('here', handOff),
    );
    await queue.enqueue('t', 1);
    await until(() => received['gone']!.length > time);
  }
  expect([isHandedOff(received['gone']!), isHandedOff(received['here']!)]).toEqual([false, true]);
});
