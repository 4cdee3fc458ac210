import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import { decodeTaskId } from '../src/task/task-id.js';
import type { EnqueueOptions } from '@mortise/queues';
import type { Handed } from '../src/work/handed.js';
import { workerRenew } from '../src/scripts.gen.js';
import { decodeHanded } from '../src/work/handed.js';
import { launch } from './launch.js';
import { gate, until } from './until.js';

const redis = connect();
const LONG_MS = 60_000;

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

interface Place {
  readonly prefix: string;
  readonly keys: QueueKeys;
  readonly queue: Queue<Tasks>;
}

function newPlace(): Place {
  const prefix = freshPrefix();
  return { prefix, keys: new QueueKeys('q', prefix), queue: new Queue<Tasks>(redis, 'q', { prefix }) };
}

interface Deaf {
  readonly heard: Buffer[];
  readonly park: (isHandable?: boolean) => Promise<void>;
}

/** A worker that is parked, and does nothing with what it is told. */
async function deaf({ keys }: Place, name = 'deaf'): Promise<Deaf> {
  const own = connect();
  const heard: Buffer[] = [];
  const channel = keys.wakeChannel(name);
  own.on('messageBuffer', (_, message: Buffer) => heard.push(message));
  await own.subscribe(channel);
  return {
    heard,
    park: async (isHandable = true) => {
      await redis.zadd(keys.of.idle, Date.now() + LONG_MS + (isHandable ? 0.5 : 0), channel);
    },
  };
}

function taskOf(message: Buffer): Handed {
  return decodeHanded(message.subarray(2));
}

/**
 * Enqueues until a task is handed over: not before the queue knows the time of the server, nor when a busy machine holds a call
 * up for 20 ms.
 */
async function handed(
  { queue, keys }: Place,
  { heard, park }: Deaf,
  options: EnqueueOptions = {},
): Promise<{ id: string; message: Buffer }> {
  for (;;) {
    await park();
    const { id } = await queue.enqueue('t', 1, options);
    await until(() => heard.length > 0);
    const message = heard.pop()!;
    if (message.length > 2) return { id, message };
    await redis.del(keys.of.tasks, keys.priorityKeys(3)[3]!);
  }
}

describe('a single task', () => {
  test('comes with the message that wakes a worker', async () => {
    const place = newPlace();
    const { queue, keys } = place;
    const { id, message } = await handed(place, await deaf(place), { attempts: 7 });
    const { task, mostAttempts, nowMs, claimMs } = taskOf(message);
    expect({ id: decodeTaskId(task.storedId), mostAttempts, claimMs }).toEqual({
      id,
      mostAttempts: 7,
      claimMs: 1_000,
    });
    expect(await redis.hgetBuffer(keys.of.tasks, task.storedId)).toEqual(task.record);
    expect(Number(await redis.zscore(keys.of.active, task.storedId))).toBe(nowMs + claimMs);
    expect(await queue.get(id)).toMatchObject({ state: 'active', attempt: 0 });
    expect(await queue.counts()).toMatchObject({ ready: 0, active: 1 });
    expect(await redis.zcard(keys.of.idle)).toBe(0);
  });

  test('is run as its first attempt, and the worker is parked again', async () => {
    const { prefix, queue, keys } = newPlace();
    const release = gate();
    const attempts: number[] = [];
    await launch(
      redis,
      'q',
      {
        t: async (_, { attempt }) => {
          attempts.push(attempt);
          await release.passed;
        },
      },
      { prefix },
    );
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const { id } = await queue.enqueue('t', 1);
    // The server knows that it has begun, and its lease is a whole one.
    await until(async () => (await queue.get(id))?.attempt === 1);
    const { state, leaseUntil } = (await queue.get(id))!;
    expect(state).toBe('active');
    expect(leaseUntil! - Date.now()).toBeGreaterThan(30_000);
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    release.open();
    await until(async () => (await queue.counts()).succeeded === 1);
    expect(await queue.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
    expect(attempts).toEqual([1]);
  });

  test('of which the completion is all that the server hears has had an attempt', async () => {
    const { prefix, queue, keys } = newPlace();
    let runs = 0;
    const release = gate();
    const t = async (payload: unknown): Promise<void> => {
      runs += 1;
      if (payload === 'fails') throw new Error(payload);
      if (payload === 'waits') await release.passed;
    };
    await launch(redis, 'q', { t }, { prefix });
    // Many quick ones first: what is over at once is not told to have begun.
    for (let index = 0; index < 20; index += 1) {
      await until(async () => (await redis.zcard(keys.of.idle)) === 1);
      await queue.enqueue('t', index);
      await until(() => runs === index + 1);
    }
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const { id } = await queue.enqueue('t', 'fails', {
      attempts: 2,
      backoff: { type: 'fixed', delayMs: LONG_MS },
    });
    await until(async () => (await queue.get(id))?.state === 'retrying');
    expect(await queue.get(id)).toMatchObject({ attempt: 1 });
    // And what isn't over at once is told.
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const waiting = await queue.enqueue('t', 'waits');
    await until(async () => (await queue.get(waiting.id))?.attempt === 1);
    expect((await queue.get(waiting.id))!.leaseUntil! - Date.now()).toBeGreaterThan(30_000);
    release.open();
  });
});

describe('is confirmed before it begins', () => {
  /** How this worker has sent renewals since `sent` was emptied. */
  function renewals(client: ReturnType<typeof connect>): string[] {
    const sent: string[] = [];
    const call = client.call.bind(client);
    client.call = ((command: string, [script, ...operands]: string[]) => {
      const isRenewal = [workerRenew.sha1, workerRenew.definition.source].includes(script!);
      if (isRenewal) sent.push(command);
      return call(command, [script!, ...operands]);
    }) as typeof call;
    return sent;
  }

  /** Whether the server has been told of the attempt when the handler begins, behind many quick tasks named `t`. */
  async function isTold(name: string, options: EnqueueOptions): Promise<boolean> {
    const { prefix, queue, keys } = newPlace();
    const client = connect();
    const sent = renewals(client);
    const told: boolean[] = [];
    const t = (): void => void told.push(sent.length > 0);
    await launch(client, 'q', { t, u: t }, { prefix });
    const once = async (...enqueue: Parameters<typeof queue.enqueue>): Promise<void> => {
      await until(async () => (await redis.zcard(keys.of.idle)) === 1);
      const wanted = told.length + 1;
      sent.length = 0;
      await queue.enqueue(...enqueue);
      await until(() => told.length === wanted);
    };
    for (let n = 0; n < 30; n += 1) await once('t', n);
    await once(name, 'last', options);
    return told.at(-1)!;
  }

  test.each<[string, boolean, string, EnqueueOptions]>([
    ['not where its handler is known to be quick', false, 't', {}],
    ['where it is the only attempt', true, 't', { attempts: 1 }],
    ['where nobody knows its handler, though others are quick', true, 'u', {}],
  ])('%s', async (_, expected, name, options) => {
    // A busy machine may make handlers slow, or a task one that is not handed over.
    const isAsExpected = await until(async () => (await isTold(name, options)) === expected, 20_000);
    expect(isAsExpected).toBe(true);
  });

  test('with the text of the script, as long as the server of this connection may not know it', async () => {
    const { prefix, queue, keys } = newPlace();
    const client = connect();
    const sent = renewals(client);
    await launch(client, 'q', { t: () => undefined }, { prefix });
    const once = async (): Promise<void> => {
      // Until one is handed over.
      await until(async () => {
        await until(async () => (await redis.zcard(keys.of.idle)) === 1);
        sent.length = 0;
        const { succeeded } = await queue.counts();
        await queue.enqueue('t', 1, { attempts: 1 });
        await until(async () => (await queue.counts()).succeeded > succeeded);
        return sent.length > 0;
      });
    };
    await once();
    expect(sent).toEqual(['eval']);
    await once();
    expect(sent).toEqual(['evalsha']);
    client.disconnect(true);
    await client.ping();
    await once();
    expect(sent).toEqual(['eval']);
  });
});

describe('a message that is lost', () => {
  test('costs a second, and no attempt', async () => {
    const place = newPlace();
    const { prefix, queue } = place;
    const { id } = await handed(place, await deaf(place), { attempts: 1 });
    const attempts: number[] = [];
    await launch(redis, 'q', { t: (_, { attempt }) => void attempts.push(attempt) }, { prefix });
    await until(async () => (await queue.counts()).succeeded === 1);
    expect(attempts).toEqual([1]);
    expect(await queue.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  });

  test('comes too late', async () => {
    const place = newPlace();
    const { prefix, queue, keys } = place;
    const { message } = await handed(place, await deaf(place));
    const runs: number[] = [];
    const worker = await launch(redis, 'q', { t: (_, { attempt }) => void runs.push(attempt) }, { prefix });
    await until(async () => (await queue.counts()).succeeded === 1);
    await redis.publish(keys.wakeChannel(worker.id), message);
    // What comes behind it shows that it was heard.
    await queue.enqueue('t', 2);
    await until(async () => (await queue.counts()).succeeded === 2);
    expect(runs).toEqual([1, 1]);
  });

  test('of a task that somebody else has: the attempt is abandoned', async () => {
    const place = newPlace();
    const { prefix, keys } = place;
    const aborted: unknown[] = [];
    const reported: unknown[] = [];
    const { id: worker } = await launch(
      redis,
      'q',
      {
        t: async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          aborted.push(signal.reason);
        },
      },
      { prefix, onError: (error) => reported.push(error) },
    );
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    await redis.del(keys.of.idle);
    const { id, message } = await handed(place, await deaf(place));
    const { storedId, token } = taskOf(message).task;
    const other = Buffer.from((await redis.hgetBuffer(keys.of.attempts, storedId))!);
    other.writeUInt32BE((token + 1) % 2 ** 32, 1);
    await redis.call('hset', keys.of.attempts, storedId, other);
    await redis.publish(keys.wakeChannel(worker), message);
    await until(() => aborted.length === 1);
    expect(aborted).toEqual([new LeaseLostError('q', id)]);
    expect(reported).toEqual(aborted);
  });
});

test('a worker without a free slot gives it back', async () => {
  const { prefix, queue, keys } = newPlace();
  const release = gate();
  const started: [unknown, number][] = [];
  const t = async (payload: unknown, { attempt }: { attempt: number }): Promise<void> => {
    started.push([payload, attempt]);
    if (payload === 1) await release.passed;
  };
  const { id } = await launch(redis, 'q', { t }, { prefix, concurrency: 1 });
  await queue.enqueue('t', 1);
  await until(() => started.length === 1);
  await until(async () => (await redis.zcard(keys.of.idle)) === 0);
  await redis.zadd(keys.of.idle, Date.now() + LONG_MS + 0.5, keys.wakeChannel(id));
  await queue.enqueue('t', 2, { attempts: 1 });
  await until(async () => (await queue.counts()).retrying + (await queue.counts()).ready === 1);
  release.open();
  await until(async () => (await queue.counts()).succeeded === 2);
  expect(started).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

test('a worker whose slots wait for a call that is under way runs it behind that', async () => {
  const place = newPlace();
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
  await until(async () => (await queue.counts()).succeeded === 1);
  expect(started).toEqual([[1, 1]]);
  const givenBack = Buffer.alloc(5, 'B');
  givenBack.writeUInt32BE(taskOf(message).task.token, 1);
  expect(sent.filter((operand) => Buffer.isBuffer(operand) && operand.includes(givenBack))).toEqual([]);
});

test('a worker of several queues takes none, since others of them may go first', async () => {
  const { prefix, queue, keys } = newPlace();
  const worker = await launch(redis, ['q', 'other'], { t: () => undefined }, { prefix });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  const parkedUntil = await redis.zscore(keys.of.idle, keys.wakeChannel(worker.id));
  expect(Number(parkedUntil) % 1).toBe(0);
  await queue.enqueue('t', 1);
  await until(async () => (await queue.counts()).succeeded === 1);
});

describe('is not handed over, but left to whoever asks', () => {
  /** What a parked worker hears when this has happened before. */
  async function told(
    before: Before,
    enqueue: Before = ({ queue }) => queue.enqueue('t', 1),
    isHandable = true,
  ): Promise<boolean> {
    const place = newPlace();
    const worker = await deaf(place);
    const { heard, park } = worker;
    await handed(place, worker);
    await before(place);
    await park(isHandable);
    await enqueue(place);
    const message = await until(() => heard[0]!);
    return message.length > 2;
  }

  type Before = (place: Place) => Promise<unknown>;

  const ready =
    (priority: number): Before =>
    ({ keys }) =>
      redis.rpush(keys.priorityKeys(3)[3 * priority]!, 'other');
  const due =
    (place: number, inMs = -1): Before =>
    ({ keys }) =>
      redis.zadd(keys.priorityKeys(3)[place]!, Date.now() + inMs, 'other');

  test.each<[string, boolean, Parameters<typeof told>]>([
    ['nothing before it', true, [async () => undefined]],
    ['one of a lower priority', true, [ready(2)]],
    ['one of its own priority', false, [ready(1)]],
    ['one of a higher priority', false, [ready(0)]],
    ['a delayed one', true, [due(4, LONG_MS)]],
    ['a delayed one that is due, of a higher priority', false, [due(1)]],
    ['one that is to be tried again, of its own priority', false, [due(5)]],
    ['one that is to be tried again, of a lower priority', true, [due(8)]],
    ['a queue that uses more than the core', false, [({ queue }) => queue.cancel('none')]],
    ['a worker that takes none', false, [async () => undefined, undefined, false]],
    ['a big record', false, [async () => undefined, ({ queue }) => queue.enqueue('t', 'x'.repeat(5_000))]],
    [
      'several in one call',
      false,
      [
        async () => undefined,
        ({ queue }) => queue.enqueueMany([1, 2].map((payload) => ({ name: 't', payload }))),
      ],
    ],
  ])('%s: %s', async (_, isHanded, [before, enqueue, isHandable]) => {
    const once = (): Promise<boolean> => told(before, enqueue, isHandable);
    // A busy machine may hold up the one call that counts.
    expect(await (isHanded ? until(once) : once())).toBe(isHanded);
  });

  test('where nobody was parked before', async () => {
    const place = newPlace();
    const { queue, keys } = place;
    const worker = await deaf(place);
    await handed(place, worker);
    await queue.enqueue('t', 1);
    await redis.del(keys.priorityKeys(3)[3]!);
    await worker.park();
    await queue.enqueue('t', 2);
    await until(() => worker.heard.length === 1);
    expect(worker.heard[0]!.toString()).toBe('w:');
    await redis.del(keys.priorityKeys(3)[3]!);
    // Now somebody was.
    worker.heard.pop();
    await handed(place, worker);
  });
});

test('a worker that is gone is passed over, and the task stays ready when all are', async () => {
  const place = newPlace();
  const { queue, keys } = place;
  const nobody = async (inMs: number): Promise<void> => {
    await redis.zadd(keys.of.idle, Date.now() + inMs + 0.5, keys.wakeChannel('nobody'));
  };
  const worker = await deaf(place);
  await handed(place, worker);
  await nobody(LONG_MS / 2);
  await handed(place, worker);
  expect(await redis.zcard(keys.of.idle)).toBe(0);
  await nobody(LONG_MS);
  await queue.enqueue('t', 2);
  expect(await queue.counts()).toMatchObject({ ready: 1, active: 2 });
});
