import { afterAll, describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import {
  BULK_ACTIONS,
  BulkOperations,
  OperationConflictError,
  TooManyOperationsError,
} from '@mortise/queues/admin';
import type { BulkOperation, BulkRequest } from '@mortise/queues/admin';
import { freshPrefix, until } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

const prefix = freshPrefix();
const operations = new BulkOperations(redis, { prefix, maxRunning: 100 });
afterAll(() => operations.stop());

const HOUR_MS = 3_600_000;
const queueOf = (name: string): Queue => new Queue(redis, name, { prefix });
async function filled(name: string, count: number, options = {}): Promise<Queue> {
  const queue = queueOf(name);
  const tasks = Array.from({ length: count }, (_, n) => ({
    name: n % 2 ? 'odd' : 'even',
    payload: { n },
    options: { id: `t${n}`, ...options },
  }));
  await queue.enqueueMany(tasks);
  return queue;
}
const ended = (id: string, by = operations): Promise<BulkOperation> =>
  until('the end of an operation', async () => {
    const operation = await by.get(id);
    return operation?.status !== 'running' && operation!;
  });

describe('start', () => {
  test('changes the tasks that match, and any process sees how many', async () => {
    const queue = await filled('all', 500);
    const request = { action: 'cancel', state: 'ready', name: 'odd', field: 'n', equals: '7' } as const;
    const started = await operations.start(queue, request);
    expect(started).toEqual({
      ...request,
      id: expect.any(String),
      queue: 'all',
      limit: 10_000,
      status: 'running',
      changed: 0,
      skipped: 0,
      startedAt: expect.any(Number),
      updatedAt: started.startedAt,
    });
    expect(await ended(started.id, new BulkOperations(redis, { prefix }))).toMatchObject({
      status: 'completed',
      changed: 1,
      skipped: 0,
    });
    expect(await queue.counts()).toMatchObject({ ready: 499, cancelled: 1 });
    expect(await redis.pttl(`${prefix}:queues:{${started.id}}:operation`)).toBeGreaterThan(86_000_000);
    await until('none runs', () => operations.running === 0);
  });

  test('ends at its limit', async () => {
    const queue = await filled('limited', 500);
    const { id } = await operations.start(queue, { action: 'remove', state: 'ready', limit: 100 });
    const { changed } = await ended(id);
    expect([changed >= 100, changed < 300, (await queue.counts()).ready]).toEqual([
      true,
      true,
      500 - changed,
    ]);
  });

  test('reschedules to now what is due meanwhile', async () => {
    const queue = await filled('due', 300, { delayMs: HOUR_MS });
    const { id } = await operations.start(queue, { action: 'reschedule', state: 'scheduled', delayMs: 0 });
    expect(await ended(id)).toMatchObject({ status: 'completed', changed: 300, skipped: 0 });
    expect(await queue.counts()).toMatchObject({ ready: 300, scheduled: 0 });
    const again = await operations.start(queue, { action: 'reschedule', state: 'ready', delayMs: 0 });
    expect(await ended(again.id)).toMatchObject({ status: 'completed', changed: 0, skipped: 300 });
  });

  test('moves each task once, though a moved one is listed again', async () => {
    const queue = await filled('moved', 450, { delayMs: HOUR_MS });
    await queue.eventsCursor();
    const { id, startedAt } = await operations.start(queue, {
      action: 'reschedule',
      state: 'scheduled',
      delayMs: 2 * HOUR_MS,
    });
    expect(await ended(id)).toMatchObject({ status: 'completed', changed: 450 });
    const { tasks } = await queue.list('scheduled', { limit: 500 });
    expect(new Set(tasks.map(({ runAt }) => runAt))).toEqual(new Set([startedAt + 2 * HOUR_MS]));
    const ranked = await operations.start(queue, {
      action: 'set-priority',
      state: 'scheduled',
      priority: 'low',
    });
    expect(await ended(ranked.id)).toMatchObject({ status: 'completed', changed: 450 });
    const events = await queue.lastEvents();
    expect(events.filter(({ type }) => type === 'rescheduled')).toHaveLength(450);
    expect(events.filter(({ type }) => type === 'reprioritized')).toHaveLength(450);
  });

  test('of one id happens once, and another request under it is refused', async () => {
    const queue = await filled('once', 10);
    const request = { action: 'remove', state: 'ready', name: 'odd' } as const;
    const both = await Promise.all([
      operations.start(queue, request, { id: 'op' }),
      operations.start(queue, request, { id: 'op' }),
    ]);
    expect(both.map(({ id }) => id)).toEqual(['op', 'op']);
    expect((await ended('op')).changed).toBe(5);
    expect(await operations.start(queue, request, { id: 'op' })).toMatchObject({ status: 'completed' });
    for (const other of [
      { ...request, name: 'even' },
      { action: 'remove', state: 'ready' },
      { ...request, limit: 1 },
    ] as const)
      await expect(operations.start(queue, other, { id: 'op' })).rejects.toThrow(OperationConflictError);
    await expect(operations.start(queueOf('other'), request, { id: 'op' })).rejects.toMatchObject({
      code: 'ERR_OPERATION_CONFLICT',
      operationId: 'op',
    });
    expect((await queue.counts()).ready).toBe(5);
  });

  test('is refused beside as many as may run, but for an id that runs', async () => {
    const queue = await filled('busy', 1_000);
    const few = new BulkOperations(redis, { prefix, maxRunning: 2 });
    const request = { action: 'remove', state: 'ready' } as const;
    const all = await Promise.allSettled(
      [1, 2, 3, 4].map((n) => few.start(queue, request, { id: `busy${n}` })),
    );
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    expect(all[2]).toMatchObject({ reason: { code: 'ERR_TOO_MANY_OPERATIONS', limit: 2 } });
    expect((all[2] as PromiseRejectedResult).reason).toBeInstanceOf(TooManyOperationsError);
    expect((await few.start(queue, request, { id: 'busy1' })).id).toBe('busy1');
    await ended('busy1', few);
    await ended('busy2', few);
    expect(await few.get('busy3')).toBeNull();
  });

  const priority = { priority: 'high' };
  test.each<[object, string]>([
    [{ action: 'explode', state: 'ready' }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'active' }, 'ERR_INVALID_ARG'],
    [{ action: 'promote', state: 'dead' }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', field: 'a' }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', equals: 'a' }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', name: 5 }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', colour: 'red' }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', limit: 0 }, 'ERR_INVALID_ARG'],
    [{ action: 'remove', state: 'ready', delayMs: 1 }, 'ERR_INVALID_ARG'],
    [{ action: 'cancel', state: 'ready', ...priority }, 'ERR_INVALID_ARG'],
    [{ action: 'reschedule', state: 'ready' }, 'ERR_INVALID_ARG'],
    [{ action: 'reschedule', state: 'ready', delayMs: -1 }, 'ERR_INVALID_ARG'],
    [{ action: 'reschedule', state: 'ready', delayMs: 1, runAt: 1 }, 'ERR_INVALID_ARG'],
    [{ action: 'reschedule', state: 'ready', delayMs: 1, ...priority }, 'ERR_INVALID_ARG'],
    [{ action: 'reschedule', state: 'ready', runAt: 1_000 }, 'ERR_RUN_AT_PAST'],
    [{ action: 'set-priority', state: 'ready' }, 'ERR_INVALID_ARG'],
    [{ action: 'set-priority', state: 'ready', priority: 'urgent' }, 'ERR_INVALID_ARG'],
  ])('with %j is refused', async (request, code) => {
    const queue = await filled('refused', 1);
    await expect(operations.start(queue, request as BulkRequest)).rejects.toMatchObject({ code });
    expect([operations.running, (await queue.counts()).ready]).toEqual([0, 1]);
  });

  test('fails by the error of a call, which is reported', async () => {
    const errors: unknown[] = [];
    const reporting = new BulkOperations(redis, { prefix, onError: (error) => errors.push(error) });
    const queue = await filled('failing', 30);
    const error = new Error('no');
    const broken = Object.assign(Object.create(queue) as Queue, {
      name: 'failing',
      list: queue.list.bind(queue),
      remove: () => Promise.reject(error),
    });
    const { id } = await reporting.start(broken, { action: 'remove', state: 'ready' });
    expect(await ended(id)).toMatchObject({ status: 'failed', changed: 0 });
    expect(errors).toEqual([error]);
  });
});

describe('an operation', () => {
  test('is interrupted by stop, and its changes stay', async () => {
    const stopped = new BulkOperations(redis, { prefix });
    const queue = await filled('stopped', 1_000);
    const { id } = await stopped.start(queue, { action: 'remove', state: 'ready' });
    await stopped.stop();
    await stopped.stop();
    const { status, changed } = (await operations.get(id))!;
    expect([status, (await queue.counts()).ready, stopped.running]).toEqual([
      'interrupted',
      1_000 - changed,
      0,
    ]);
    const rest = await stopped.start(queue, { action: 'remove', state: 'ready' });
    expect(await ended(rest.id)).toMatchObject({ status: 'completed', changed: 1_000 - changed });
  });

  test('whose process has died is interrupted', async () => {
    const dead = { id: 'dead', status: 'running', updatedAt: Date.now() - 11_000 };
    await redis.set(`${prefix}:queues:{dead}:operation`, JSON.stringify(dead));
    expect((await operations.get('dead'))?.status).toBe('interrupted');
    expect(await operations.get('unknown')).toBeNull();
  });
});

test('each action has its states', () => {
  expect(BULK_ACTIONS).toMatchInlineSnapshot(`
{
  "cancel": [
    "scheduled",
    "ready",
    "waiting",
    "retrying",
    "active",
  ],
  "promote": [
    "scheduled",
    "retrying",
  ],
  "remove": [
    "scheduled",
    "ready",
    "retrying",
    "succeeded",
    "dead",
    "cancelled",
    "waiting",
  ],
  "reschedule": [
    "scheduled",
    "ready",
    "retrying",
  ],
  "retry": [
    "dead",
    "cancelled",
    "retrying",
  ],
  "set-priority": [
    "scheduled",
    "ready",
    "waiting",
    "retrying",
  ],
}
`);
});

test.each([{ maxRunning: 0 }, { maxRunning: 1_001 }, { onError: 'x' }, { most: 1 }])(
  'the options %j are refused',
  (options) => {
    expect(() => new BulkOperations(redis, options as object)).toThrow(/maxRunning|onError|most/);
  },
);
