import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { WaiterHub } from '@mortise/redis';
import { gate } from '@mortise/test-kit';
import type { QueueKeys } from '../../src/keys.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { heldRenewals } from '../fixture/paused-timers.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Run } from '../fixture/new-run.js';
import { newRun } from '../fixture/new-run.js';
import { counted, until } from '../fixture/until.js';

const renewals = heldRenewals();

/** The part of `queue.cancel` in Redis. */
async function cancel({ of }: QueueKeys, id: string, isNotified = true): Promise<void> {
  const storedId = encodeTaskId(id);
  const held = (await redis.hgetBuffer(of.attempts, storedId))!;
  const ended = Buffer.concat([Buffer.from('C'), Buffer.alloc(8), Buffer.from([0, 1])]);
  await redis.hset(of.attempts, storedId, ended);
  await redis.zrem(of.active, Buffer.concat([held.subarray(1, 5), storedId]));
  if (!isNotified) return;
  await redis.call(WaiterHub.of(redis).publishCommand, of.active, `*:cancel ${storedId.toString('hex')}`);
}

async function isSubscribed({ of }: QueueKeys): Promise<boolean> {
  return ((await redis.pubsub('NUMSUB', of.active)) as [string, number])[1] === 1;
}

/** A worker that listens for cancellations. */
async function newListening(): Promise<Run> {
  const given = newQueue();
  await given.queue.configure({ keepEvents: 10 });
  const run = await newRun({}, given);
  await until(() => isSubscribed(run.keys));
  return run;
}

describe('a running task that is cancelled', () => {
  test('is aborted at once, and the result of its handler is dropped', async () => {
    const { queue, keys, contexts, open } = await newListening();
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
    await counted(queue, { succeeded: 2 });
    expect((await redis.hgetBuffer(keys.of.attempts, encodeTaskId('é')))!.toString('latin1', 0, 1)).toBe('C');
  });

  test('by queue.cancel, while many run', async () => {
    const { queue, contexts } = await newListening();
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
  });

  test('is aborted at the next renewal when the message was lost', async () => {
    const { queue, keys, contexts, open } = await newListening();
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => contexts.length === 1);
    await cancel(keys, 'a', false);
    await until(() => renewals.fire() > 0 || contexts[0]!.signal.aborted);
    await until(() => contexts[0]!.signal.aborted);
    expect(contexts[0]!.signal.reason).toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    open();
  });

  test('is aborted at once, also by the first cancellation of a queue whose workers are full', async () => {
    const { queue, keys, prefix, contexts, open } = await newRun({ concurrency: 1 });
    await queue.enqueue('t', 1, { id: 'a' });
    await until(async () => contexts.length === 1 && (await isSubscribed(keys)));
    // Renewals are held, and a full worker makes no other call.
    await new Queue(redis, 'q', { prefix }).cancel('a');
    await until(() => contexts[0]!.signal.aborted);
    expect(contexts[0]!.signal.reason).toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    open();
  });

  test('its completion that is on its way is dropped without a word', async () => {
    const { queue, keys, contexts, open } = await newListening();
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => contexts.length === 1);
    await cancel(keys, 'a', false);
    open();
    await queue.enqueue('t', 1, { id: 'b' });
    await counted(queue, { succeeded: 1 });
    expect((await redis.hgetBuffer(keys.of.attempts, encodeTaskId('a')))!.toString('latin1', 0, 1)).toBe('C');
  });

  test('before its turn in the worker, it is not run', async () => {
    const { queue, keys, work } = newQueue();
    const door = gate();
    const run: number[] = [];
    const handle = async (payload: number): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    await work({ t: { handle, concurrency: 1 } });
    await queue.enqueueMany(
      [1, 2, 3].map((payload) => ({ name: 't', payload, options: { id: `${payload}` } })),
    );
    await counted(queue, { active: 3 });
    await cancel(keys, '2', false);
    const leaseUntil = (await queue.get('3'))!.leaseUntil!;
    // All leases have been renewed since.
    await until(async () => renewals.fire() >= 0 && (await queue.get('3'))!.leaseUntil! > leaseUntil);
    door.open();
    await counted(queue, { succeeded: 2 });
    expect(run).toEqual([1, 3]);
  });
});

test('a task of a batch that is cancelled before that begins makes room for another', async () => {
  const { queue, keys, work } = newQueue();
  await queue.configure({ keepEvents: 10 });
  let active = 0;
  const alone = async (): Promise<never> => {
    active += 1;
    return new Promise<never>(() => undefined);
  };
  const batch = { maxSize: 2, waitMs: 500, handleMany: () => undefined };
  await work({ alone, batch }, { concurrency: 2 });
  await until(() => isSubscribed(keys));
  await queue.enqueue('batch', 1, { id: 'batch' });
  await queue.enqueue('alone', 2);
  await counted(queue, { active: 2 });
  await queue.enqueue('alone', 3);
  await queue.cancel('batch');
  await until(() => active === 2);
  expect(await queue.counts()).toMatchObject({ active: 2, ready: 0, cancelled: 1 });
});

test('wrong messages do no harm', async () => {
  const { queue, keys, contexts, open } = await newListening();
  await queue.enqueue('t', 1, { id: 'a' });
  await until(() => contexts.length === 1);
  const hex = encodeTaskId('a').toString('hex');
  for (const message of ['*:cancel', '*:', '*:cancel zz', '*:cancel 00ff', '*:nonsense', `*:cancel ${hex}`]) {
    await redis.call(WaiterHub.of(redis).publishCommand, keys.of.active, message);
  }
  await contexts[0]!.renew();
  expect(contexts[0]!.signal.aborted).toBe(false);
  open();
  await counted(queue, { succeeded: 1 });
});
