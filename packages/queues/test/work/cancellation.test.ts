import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { WaiterHub } from '@mortise/redis';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { heldRenewals } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();
const renewals = heldRenewals();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

/** The part of `queue.cancel` in Redis. */
async function cancel(keys: QueueKeys['of'], id: string, isNotified = true): Promise<void> {
  const storedId = encodeTaskId(id);
  const held = (await redis.hgetBuffer(keys.attempts, storedId))!;
  const ended = Buffer.concat([Buffer.from('C'), Buffer.alloc(8), Buffer.from([0, 1])]);
  await redis.hset(keys.attempts, storedId, ended);
  await redis.zrem(keys.active, Buffer.concat([held.subarray(1, 5), storedId]));
  if (!isNotified) return;
  await redis.call(WaiterHub.of(redis).publishCommand, keys.active, `*:cancel ${storedId.toString('hex')}`);
}

async function subscribers(keys: QueueKeys['of']): Promise<number> {
  return ((await redis.call('pubsub', 'numsub', keys.active)) as [string, number])[1];
}

interface Run {
  readonly queue: Queue<Tasks>;
  readonly prefix: string;
  readonly keys: QueueKeys['of'];
  readonly contexts: TaskContext[];
  readonly errors: unknown[];
  readonly open: () => void;
}

async function newRun({ usesOptional = true, concurrency = 50 } = {}): Promise<Run> {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  const keys = new QueueKeys('q', prefix).of;
  const door = gate();
  const contexts: TaskContext[] = [];
  const errors: unknown[] = [];
  const t = async (_: unknown, context: TaskContext): Promise<string> => {
    contexts.push(context);
    await door.passed;
    return 'done all the same';
  };
  if (usesOptional) await queue.configure({ keepEvents: 10 });
  await launch(redis, 'q', { t }, { prefix, concurrency, onError: (error) => errors.push(error) });
  if (usesOptional) await until(async () => (await subscribers(keys)) === 1);
  return { queue, prefix, keys, contexts, errors, open: () => door.open() };
}

describe('a running task that is cancelled', () => {
  test('is aborted at once, and the result of its handler is dropped', async () => {
    const { queue, keys, contexts, errors, open } = await newRun();
    await queue.enqueueMany(['a', 'é', 'c'].map((id) => ({ name: 't', payload: 1, options: { id } })));
    await until(() => contexts.length === 3);
    const reasons: unknown[] = [];
    contexts[1]!.signal.addEventListener('abort', () => reasons.push(contexts[1]!.signal.reason));
    await cancel(keys, 'é');
    await until(() => reasons.length === 1);
    expect(reasons).toEqual([
      expect.objectContaining({ code: 'ERR_TASK_CANCELLED', queue: 'q', taskId: 'é' }),
    ]);
    await expect(contexts[1]!.renew()).rejects.toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    await expect(contexts[1]!.progress(1)).rejects.toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    expect([contexts[0]!.signal.aborted, contexts[2]!.signal.aborted]).toEqual([false, false]);
    open();
    await until(async () => (await queue.counts()).succeeded === 2);
    expect((await redis.hgetBuffer(keys.attempts, encodeTaskId('é')))!.toString('latin1', 0, 1)).toBe('C');
    expect(errors).toEqual([]);
  });

  test('by queue.cancel, while many run', async () => {
    const { queue, contexts, errors } = await newRun();
    const ids = Array.from({ length: 20 }, (_, index) => `task ${index}`);
    await queue.enqueueMany(ids.map((id) => ({ name: 't', payload: 1, options: { id } })));
    await until(() => contexts.length === 20);
    await Promise.all(ids.slice(0, 10).map((id) => queue.cancel(id)));
    await until(() => contexts.filter(({ signal }) => signal.aborted).length === 10);
    const aborted = contexts.filter(({ signal }) => signal.aborted);
    expect(aborted.map(({ id }) => id)).toEqual(ids.slice(0, 10));
    expect(aborted.map(({ signal }) => signal.reason as unknown)).toEqual(
      aborted.map(({ id }) => expect.objectContaining({ code: 'ERR_TASK_CANCELLED', taskId: id })),
    );
    expect(errors).toEqual([]);
  });

  test('is aborted at the next renewal when the message was lost', async () => {
    const { queue, keys, contexts, errors, open } = await newRun();
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => contexts.length === 1);
    await cancel(keys, 'a', false);
    await until(() => renewals.fire() > 0 || contexts[0]!.signal.aborted);
    await until(() => contexts[0]!.signal.aborted);
    expect(contexts[0]!.signal.reason).toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    open();
    expect(errors).toEqual([]);
  });

  test('is aborted at once, also by the first cancellation of a queue whose workers are full', async () => {
    const { queue, keys, prefix, contexts, errors, open } = await newRun({
      usesOptional: false,
      concurrency: 1,
    });
    await queue.enqueue('t', 1, { id: 'a' });
    await until(async () => contexts.length === 1 && (await subscribers(keys)) === 1);
    // Renewals are held, and a full worker makes no other call.
    await new Queue<Tasks>(redis, 'q', { prefix }).cancel('a');
    await until(() => contexts[0]!.signal.aborted);
    expect(contexts[0]!.signal.reason).toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    open();
    expect(errors).toEqual([]);
  });

  test('its completion that is on its way is dropped without a word', async () => {
    const { queue, keys, contexts, errors, open } = await newRun();
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => contexts.length === 1);
    await cancel(keys, 'a', false);
    open();
    await queue.enqueue('t', 1, { id: 'b' });
    await until(async () => (await queue.counts()).succeeded === 1);
    expect((await redis.hgetBuffer(keys.attempts, encodeTaskId('a')))!.toString('latin1', 0, 1)).toBe('C');
    expect(errors).toEqual([]);
  });

  test('before its turn in the worker, it is not run', async () => {
    const prefix = freshPrefix();
    const queue = new Queue<Tasks>(redis, 'q', { prefix });
    const keys = new QueueKeys('q', prefix).of;
    const door = gate();
    const run: number[] = [];
    const handle = async (payload: number): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    await launch(redis, 'q', { t: { handle, concurrency: 1 } }, { prefix });
    await queue.enqueueMany(
      [1, 2, 3].map((payload) => ({ name: 't', payload, options: { id: `${payload}` } })),
    );
    await until(async () => (await queue.counts()).active === 3);
    await cancel(keys, '2', false);
    const leaseUntil = (await queue.get('3'))!.leaseUntil!;
    // All leases have been renewed since.
    await until(async () => renewals.fire() >= 0 && (await queue.get('3'))!.leaseUntil! > leaseUntil);
    door.open();
    await until(async () => (await queue.counts()).succeeded === 2);
    expect(run).toEqual([1, 3]);
  });
});

test('a task of a batch that is cancelled before that begins makes room for another', async () => {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  const keys = new QueueKeys('q', prefix).of;
  await queue.configure({ keepEvents: 10 });
  let active = 0;
  const alone = async (): Promise<never> => {
    active += 1;
    return new Promise<never>(() => undefined);
  };
  const batch = { maxSize: 2, waitMs: 500, handleMany: () => undefined };
  await launch(redis, 'q', { alone, batch }, { prefix, concurrency: 2 });
  await until(async () => (await subscribers(keys)) === 1);
  await queue.enqueue('batch', 1, { id: 'batch' });
  await queue.enqueue('alone', 2);
  await until(async () => (await queue.counts()).active === 2);
  await queue.enqueue('alone', 3);
  await queue.cancel('batch');
  await until(() => active === 2);
  expect(await queue.counts()).toMatchObject({ active: 2, ready: 0, cancelled: 1 });
});

describe('messages', () => {
  test('wrong messages do no harm', async () => {
    const { queue, keys, contexts, errors, open } = await newRun();
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => contexts.length === 1);
    const hex = encodeTaskId('a').toString('hex');
    for (const message of [
      '*:cancel',
      '*:',
      '*:cancel zz',
      '*:cancel 00ff',
      '*:nonsense',
      `*:cancel ${hex}`,
    ]) {
      await redis.call(WaiterHub.of(redis).publishCommand, keys.active, message);
    }
    await contexts[0]!.renew();
    expect(contexts[0]!.signal.aborted).toBe(false);
    open();
    await until(async () => (await queue.counts()).succeeded === 1);
    expect(errors).toEqual([]);
  });
});
