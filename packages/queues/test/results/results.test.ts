import { describe, expect, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import type { QueueKeys } from '../../src/keys.js';
import { watched } from '../fixture/commands-of.js';
import * as faults from '../fixture/faults.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { launch } from '../fixture/launch.js';
import { counted, reached, until } from '../fixture/until.js';

const isWatched = (keys: QueueKeys, count: number) => async () =>
  (await redis.zcard(keys.of.awaited)) === count;

describe('result', () => {
  test("resolves to the handler's result, for an earlier and a later end", async () => {
    const { queue, keys, work } = newQueue();
    const ids = ['a', '\0', '🙂', 'x'.repeat(15), '}x', 'a:b', 'a\nb'];
    for (const id of ids) await queue.enqueue('echo', id, { id });
    const { id: none } = await queue.enqueue('nothing', 1);
    const results = [...ids, none].map((id) => queue.result(id));
    await until(isWatched(keys, ids.length + 1));
    await work({ echo: (payload) => ({ payload }), nothing: () => undefined });
    expect(await Promise.all(results)).toEqual([...ids.map((payload) => ({ payload })), undefined]);
    expect(await queue.result(ids[0]!, { waitMs: 0 })).toEqual({ payload: ids[0] });
    expect(await redis.exists(keys.of.awaited)).toBe(0);
  });

  test('rejects when the task is dead, cancelled, removed or unknown', async () => {
    const { queue, keys, work } = newQueue();
    const { id: hopeless } = await queue.enqueue('t', 1);
    const { id: cancelled } = await queue.enqueue('t', 2, { delayMs: 60_000 });
    const { id: removed } = await queue.enqueue('t', 3, { delayMs: 60_000 });
    const { id: drained } = await queue.enqueue('t', 4, { delayMs: 60_000 });
    const ids = [hopeless, cancelled, removed, drained];
    const waits = Promise.allSettled(ids.map((id) => queue.result(id)));
    await until(isWatched(keys, 4));
    await work({ t: () => Promise.reject(new Discard('no such address')) });
    await queue.cancel(cancelled, { reason: 'sold' });
    await queue.remove(removed);
    await reached(queue, hopeless, 'dead');
    await queue.drain({ scheduled: true });
    const reasons = (await waits).map((wait) => (wait as PromiseRejectedResult).reason as object);
    expect(reasons).toMatchObject([
      { code: 'ERR_TASK_DEAD', taskId: hopeless, reason: expect.stringContaining('no such address') },
      {
        code: 'ERR_TASK_CANCELLED',
        taskId: cancelled,
        reason: 'sold',
        message: expect.stringMatching(/ was cancelled: sold \(see /),
      },
      { code: 'ERR_TASK_NOT_FOUND', taskId: removed },
      { code: 'ERR_TASK_NOT_FOUND', taskId: drained },
    ]);
    const again = await Promise.allSettled([...ids, 'nobody'].map((id) => queue.result(id)));
    expect(again.map((wait) => (wait as PromiseRejectedResult).reason as object)).toMatchObject([
      { code: 'ERR_TASK_DEAD' },
      { code: 'ERR_TASK_CANCELLED', reason: 'sold' },
      { code: 'ERR_TASK_NOT_FOUND' },
      { code: 'ERR_TASK_NOT_FOUND' },
      { code: 'ERR_TASK_NOT_FOUND' },
    ]);
  });

  test('ends at the deadline, with the signal, or at once when it may not wait', async () => {
    const { queue } = newQueue();
    const { id } = await queue.enqueue('t', 1);
    await expect(queue.result(id, { waitMs: 0 })).rejects.toMatchObject({
      code: 'ERR_RESULT_TIMEOUT',
      taskId: id,
      waitMs: 0,
    });
    await expect(queue.result(id, { waitMs: 20 })).rejects.toMatchObject({ code: 'ERR_RESULT_TIMEOUT' });
    const controller = new AbortController();
    const reason = new Error('the client has gone');
    const aborted = queue.result(id, { signal: controller.signal, waitMs: Infinity });
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    await expect(queue.result(id, { signal: controller.signal })).rejects.toBe(reason);
    for (const waitMs of [Number.NaN, -1]) {
      await expect(queue.result(id, { waitMs })).rejects.toThrow(RangeError);
    }
    await expect(queue.result('')).rejects.toThrow(RangeError);
  });

  test('has the result in its message, so it works without retention', async () => {
    const { queue, keys, work } = newQueue();
    const { id } = await queue.enqueue('t', 1);
    const result = queue.result(id);
    await until(isWatched(keys, 1));
    await work({ t: () => 'x'.repeat(200_000) }, { keepSucceeded: 0 });
    expect(await result).toBe('x'.repeat(200_000));
    await expect(queue.result(id)).rejects.toMatchObject({ code: 'ERR_TASK_NOT_FOUND' });
  });

  test('a task that is tried again is waited for until it has ended for good', async () => {
    const { queue, work } = newQueue();
    const backoff = { type: 'fixed', delayMs: 20 } as const;
    const { id } = await queue.enqueue('t', 1, { backoff, attempts: 3 });
    const result = queue.result(id);
    await work({ t: (_, { attempt }) => (attempt < 3 ? Promise.reject(new Error('not yet')) : attempt) });
    expect(await result).toBe(3);
  });

  test('many waits, for one task and for many, in this and another process', async () => {
    const { queue, prefix, keys, work } = newQueue();
    const other = new Queue<Tasks>(connect(), 'q', { prefix });
    const tasks = Array.from({ length: 300 }, (_, payload) => ({ name: 'double', payload }));
    const ids = (await queue.enqueueMany(tasks)).map(({ id }) => id);
    const waits = [...ids, ids[0]!, ids[0]!].map((id) => queue.result(id));
    await until(isWatched(keys, 300));
    const others = ids.slice(0, 10).map((id) => other.result(id));
    // They share: the score of those names no single process any more.
    await until(async () => {
      const scores = await redis.zmscore(
        keys.of.awaited,
        ...ids.slice(0, 10).map((id) => Buffer.from(id.replaceAll('-', ''), 'hex')),
      );
      return scores.every((score) => Number(score) % 2 ** 20 === 0);
    });
    await work({ double: (payload) => 2 * payload });
    const doubled = tasks.map(({ payload }) => 2 * payload);
    expect(await Promise.all(waits)).toEqual([...doubled, 0, 0]);
    expect(await Promise.all(others)).toEqual(doubled.slice(0, 10));
  });

  test('finds a task whose group has put it into another shard', async () => {
    const { queue, work } = newQueue({ shards: 4 });
    const ids = ['a', 'b', 'c', 'd'];
    for (const id of ids) await queue.enqueue('echo', id, { id, group: 'one' });
    const results = ids.map((id) => queue.result(id));
    await work({ echo: (payload) => payload });
    expect(await Promise.all(results)).toEqual(ids);
    await expect(queue.result('nobody')).rejects.toMatchObject({ code: 'ERR_TASK_NOT_FOUND' });
  });

  describe('when a message is lost', () => {
    const looks = heldRechecks();

    test('looking again makes up for it, with one command for all waits', async () => {
      const { queue: producer, prefix, keys, work } = newQueue();
      const { client, sent, quiet } = await watched();
      const queue = new Queue<Tasks>(client, 'q', { prefix });
      const tasks = Array.from({ length: 50 }, (_, payload) => ({ name: 't', payload }));
      const ids = (await producer.enqueueMany(tasks)).map(({ id }) => id);
      const waits = ids.map((id) => queue.result(id));
      await until(isWatched(keys, 50));
      await quiet();
      const first = sent.length;
      expect(looks.fire()).toBe(1);
      await quiet();
      expect(sent.slice(first).map(({ what }) => what)).toEqual(['result.wait']);
      // The script that ends the tasks finds no process waiting.
      await redis.del(keys.of.awaited);
      const opened = gate();
      await work({ t: async (payload) => (await opened.passed, payload) });
      await redis.del(keys.of.awaited);
      opened.open();
      await counted(producer, { succeeded: 50 });
      looks.fire();
      expect(await Promise.all(waits)).toEqual(tasks.map(({ payload }) => payload));
    });
  });

  test('survives a connection that is cut while the task ends, and a server that is away', async () => {
    const { redis: direct, queue, proxy } = await faults.newProxied();
    const away = faults.connectTo(proxy, { maxRetriesPerRequest: null });
    const opened = gate();
    await launch(
      direct,
      'q',
      { t: async (payload) => (await opened.passed, payload) },
      { prefix: faults.prefix },
    );
    const tasks = Array.from({ length: 20 }, (_, payload) => ({ name: 't', payload }));
    const ids = (await queue.enqueueMany(tasks)).map(({ id }) => id);
    const results = ids.map((id) => faults.queueOn(away).result(id));
    await until(async () => (await direct.zcard(faults.keys.of.awaited)) === 20);
    proxy.refuse();
    opened.open();
    await counted(queue, { succeeded: 20 });
    await proxy.restore();
    expect(await Promise.all(results)).toEqual(tasks.map(({ payload }) => payload));
  });

  test('while Redis is away it ends at its deadline, and tells why', async () => {
    const { proxy } = await faults.newProxied();
    const away = faults.connectTo(proxy, { maxRetriesPerRequest: null });
    const queue = faults.queueOn(away);
    const { id } = await queue.enqueue('t', 1);
    const waiting = queue.result(id, { waitMs: 1_000 });
    await until(async () => (await away.zcard(faults.keys.of.awaited)) === 1);
    proxy.refuse();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_RESULT_TIMEOUT' });
    await expect(queue.result(id, { waitMs: 100 })).rejects.toMatchObject({ code: 'ERR_RESULT_TIMEOUT' });
    const controller = new AbortController();
    const aborted = queue.result(id, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('a client that is closed ends its waits', async () => {
    const { prefix, keys } = newQueue();
    const closing = connect();
    const queue = new Queue(closing, 'q', { prefix });
    const { id } = await queue.enqueue('t', 1);
    const waiting = queue.result(id);
    await until(isWatched(keys, 1));
    closing.disconnect();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });
});
