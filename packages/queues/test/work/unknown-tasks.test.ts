import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { newQueue, redis } from '../fixture/new-queue.js';
import { launch } from '../fixture/launch.js';
import { serverNow } from '../fixture/set-due.js';
import { counted, reached, until } from '../fixture/until.js';

const ignore = (): void => undefined;
/** A worker without a handler for `new`. */
const old = { known: ignore };

describe('a task whose name has no handler in this worker', () => {
  test('goes back, uncounted and reported once, and waits for a worker that has it', async () => {
    const { queue, work } = newQueue();
    const errors: unknown[] = [];
    await work(old, { onError: (error) => errors.push(error) });
    await queue.enqueueMany(
      ['a', 'b'].map((id) => ({ name: 'new', payload: id, options: { id, attempts: 1 } })),
    );
    await counted(queue, { retrying: 2 });
    expect(await queue.get('a')).toMatchObject({
      state: 'retrying',
      attempt: 0,
      error: { message: expect.stringContaining('no handler for "new", task "a" of queue "q"') },
    });
    const attempts: number[] = [];
    await work({ new: (_, { attempt }) => void attempts.push(attempt) });
    await counted(queue, { succeeded: 2, dead: 0 });
    expect(attempts).toEqual([1, 1]);
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_HANDLER_MISSING', taskName: 'new' })]);
  });

  test('of a queue that its handler leaves out goes back as well', async () => {
    const { queue, prefix } = newQueue();
    const other = new Queue(redis, 'other', { prefix });
    const errors: unknown[] = [];
    const run: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const handler = { queues: ['q'], handle: (payload: unknown) => void run.push(payload) };
    await launch(redis, ['other', 'q'], { new: handler, ...old }, { prefix, onError });
    const { id } = await other.enqueue('new', 1, { attempts: 1 });
    await queue.enqueue('new', 2);
    await until(() => run.length > 0 && errors.length > 0);
    await counted(other, { retrying: 1 });
    expect(await other.get(id)).toMatchObject({ attempt: 0 });
    expect(run).toEqual([2]);
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_HANDLER_MISSING', queue: 'other' })]);
    expect([await queue.names(), await other.names()]).toEqual([['known', 'new'], ['known']]);
  });

  test('reaches an idle new worker, though an idle old one takes it first', async () => {
    const { queue, work, keys } = newQueue();
    for (let count = 0; count < 4; count += 1) await work(old, { onError: ignore });
    await until(async () => (await redis.zcard(keys.of.idle)) === 4);
    // The last one in the row of idle workers.
    const run: unknown[] = [];
    await work({ new: (payload) => run.push(payload) });
    await until(async () => (await redis.zcard(keys.of.idle)) === 5);
    const { id } = await queue.enqueue('new', 1);
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ attempt: 1 });
    expect(run).toEqual([1]);
  });

  test('delays nothing after it, at concurrency 1 with prefetch', async () => {
    const { queue, work } = newQueue();
    const run: unknown[] = [];
    await queue.enqueueMany(Array.from({ length: 30 }, () => ({ name: 'new', payload: 1 })));
    await queue.enqueueMany(
      Array.from({ length: 30 }, (_, payload) => ({ name: 'known', payload, options: { priority: 'low' } })),
    );
    await work(
      { known: (payload) => void run.push(payload) },
      { concurrency: 1, prefetch: 8, onError: ignore },
    );
    await counted(queue, { succeeded: 30 });
    expect(run).toEqual(Array.from({ length: 30 }, (_, n) => n));
    expect(await queue.counts()).toMatchObject({ succeeded: 30, dead: 0 });
  });

  test('is dead after unknownAfterMs, on time', async () => {
    const { queue, work } = newQueue();
    const errors: unknown[] = [];
    await work(old, { unknownAfterMs: 700, onError: (error) => errors.push(error) });
    const { id } = await queue.enqueue('new', 1, { attempts: 2 });
    const { enqueuedAt, finishedAt, attempt, error } = await reached(queue, id, 'dead');
    expect(finishedAt! - enqueuedAt).toBeGreaterThanOrEqual(699);
    expect([attempt, error?.message]).toEqual([1, expect.stringContaining('no handler for "new", task')]);
    expect(errors.map((reported) => (reported as { code: string }).code)).toEqual([
      'ERR_HANDLER_MISSING',
      'ERR_UNKNOWN_TASK',
    ]);
  });

  test('is dead at once with unknownAfterMs 0', async () => {
    const { queue, work } = newQueue();
    const errors: unknown[] = [];
    await work(old, { unknownAfterMs: 0, onError: (error) => errors.push(error) });
    const { id } = await queue.enqueue('new', 1);
    await reached(queue, id, 'dead');
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_UNKNOWN_TASK', taskId: id })]);
  });

  test('is not dead while a live worker handles its name', async () => {
    const { queue, work, prefix } = newQueue();
    // A handler of another worker, which takes nothing.
    const busy = await launch(redis, 'q', { new: ignore }, { prefix });
    busy.pause();
    await until(async () => (await queue.names()).includes('new'));
    const errors: unknown[] = [];
    await work(old, { unknownAfterMs: 300, onError: (error) => errors.push(error) });
    await until(async () => (await queue.names()).includes('known'));
    const { id } = await queue.enqueue('new', 1);
    const { enqueuedAt } = (await queue.get(id))!;
    await until(async () => (await serverNow(redis)) > enqueuedAt + 900);
    expect(await queue.get(id)).toMatchObject({ state: expect.stringMatching(/retrying|ready|active/) });
    busy.resume();
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ attempt: 1 });
  });

  test('has its time anew after a retry of the dead task, and after an attempt that does not count', async () => {
    const { queue, work, keys } = newQueue();
    const first = await work(old, { unknownAfterMs: 2_000, onError: ignore });
    const { id } = await queue.enqueue('new', 1);
    await reached(queue, id, 'dead');
    await queue.retry(id);
    await reached(queue, id, 'retrying');
    await first.stop();
    const door = gate();
    const second = await work({ new: async () => door.passed });
    await reached(queue, id, 'active');
    await second.stop({ graceMs: 0 });
    door.open();
    // As if the second worker had stopped 45 s ago.
    await redis.zrem(keys.of.handlers, 'new');
    const from = await serverNow(redis);
    await work(old, { unknownAfterMs: 2_000, onError: ignore });
    expect((await reached(queue, id, 'dead')).finishedAt! - from).toBeGreaterThan(1_900);
  });

  test('can expire, be cancelled, removed and promoted meanwhile', async () => {
    const { queue, work } = newQueue();
    await work(old, { onError: ignore });
    await queue.enqueue('new', 1, { id: 'expires', expiresInMs: 2_000 });
    for (const id of ['cancel', 'remove', 'promote']) await queue.enqueue('new', 1, { id });
    await counted(queue, { retrying: 4 });
    const waits = (id: string, act: () => Promise<boolean>) =>
      until(async () => (await queue.get(id))?.state === 'retrying' && (await act()));
    await waits('cancel', () => queue.cancel('cancel'));
    await waits('remove', () => queue.remove('remove'));
    await waits('promote', () => queue.promote('promote'));
    expect(await reached(queue, 'expires', 'dead')).toMatchObject({
      error: { message: expect.stringContaining('was not started within 2000 ms') },
    });
    expect(await queue.counts()).toMatchObject({ cancelled: 1, dead: 1, succeeded: 0 });
    expect(await queue.get('remove')).toBeNull();
  });

  test('holds its ordered group; others of an unordered one go on', async () => {
    for (const isOrdered of [false, true]) {
      const { queue, work } = newQueue();
      await queue.configure({ groups: { ordered: isOrdered } });
      await queue.enqueue('new', 1, { id: 'first', group: 'g' });
      await queue.enqueue('known', 1, { id: 'second', group: 'g' });
      await work(old, { unknownAfterMs: 3_000, onError: ignore });
      const first = await reached(queue, 'first', 'dead');
      const second = await reached(queue, 'second', 'succeeded');
      expect(second.finishedAt! >= first.finishedAt!).toBe(isOrdered);
      expect(first.finishedAt! - first.enqueuedAt).toBeGreaterThanOrEqual(2_999);
    }
  });

  test('looks a bounded number of times, and fewer with each', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ keepEvents: 1_000 });
    await work(old, { unknownAfterMs: 3_000, onError: ignore });
    const { id } = await queue.enqueue('new', 1);
    await reached(queue, id, 'dead');
    let starts = 0;
    for await (const { type } of queue.events({ after: 'oldest' })) {
      if (type === 'started') starts += 1;
      if (type === 'dead') break;
    }
    // Every 0.1 to 0.2 s in the first second, then a tenth longer each time.
    expect(starts).toBeGreaterThan(2);
    expect(starts).toBeLessThan(25);
  });
});

describe('queue.names', () => {
  test('lists what live workers handle, of all shards and queues of a worker', async () => {
    const { queue, work, prefix, keys } = newQueue({ shards: 3 });
    expect(await queue.names()).toEqual([]);
    await queue.enqueueMany(Array.from({ length: 9 }, (_, payload) => ({ name: 'b', payload })));
    await work({ b: ignore, 'ä\n': ignore });
    await launch(redis, ['other', 'q'], { a: ignore, b: ignore }, { prefix });
    await until(async () => (await queue.names()).length === 3);
    expect(await queue.names()).toEqual(['a', 'b', 'ä\n']);
    await counted(queue, { succeeded: 9 });
    expect(await new Queue(redis, 'other', { prefix }).names()).toEqual(['a', 'b']);
    const left = await redis.pttl(keys.of.handlers);
    expect(left > 100_000 && left <= 150_000).toBe(true);
  });

  test('forgets the names of workers that are gone', async () => {
    const { queue, work, keys } = newQueue();
    const worker = await work({ gone: ignore });
    await until(async () => (await queue.names()).length === 1);
    await worker.stop();
    // As if the worker had stopped 150 s ago.
    await redis.zadd(keys.of.handlers, (await serverNow(redis)) - 1, 'gone');
    expect(await queue.names()).toEqual([]);
    await work({ fresh: ignore });
    await until(async () => (await queue.names()).length === 1);
    expect(await redis.zrange(keys.of.handlers, '0', '-1')).toEqual(['fresh']);
  });
});
