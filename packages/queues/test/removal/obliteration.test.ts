import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { connect, freshPrefix, interposed } from '@mortise/test-kit';
import { Bench } from '../fixture/bench.js';
import type { Tasks } from '../fixture/launch.js';
import { launch } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const keysOf = (prefix: string): Promise<string[]> => redis.keys(`${prefix}*`);

/** A queue that has used each optional feature, in every state but active. */
async function fill(bench: Bench): Promise<void> {
  const { queue, prefix } = bench;
  await queue.configure({ keepEvents: 100, rate: { limit: 1_000, periodMs: 1, burst: 1_000 } });
  const worker = await bench.launch({
    ok: async (payload: unknown, ctx: TaskContext) => {
      await ctx.progress(1);
      await ctx.log('done');
      return payload;
    },
    fail: () => {
      throw new Error('again');
    },
  });
  for (const state of ['succeeded', 'retrying', 'scheduled', 'cancelled'] as const) await bench.task(state);
  await queue.enqueue('fail', 1, { attempts: 1 });
  await counted(queue, { dead: 1 });
  await worker.stop();
  await queue.enqueueMany(
    ['a', 'b'].map((group) => ({
      name: 'ok',
      payload: group,
      options: { group, dedupMs: 60_000, id: group },
    })),
  );
  await queue.enqueueFlow({
    name: 'ok',
    payload: 1,
    children: [
      { name: 'ok', payload: 1 },
      { name: 'ok', payload: 1 },
    ],
  });
  await queue.schedule('daily', { everyMs: 3_600_000 }, 'ok', 1);
  await queue.result('a', { waitMs: 1 }).catch(() => undefined);
  expect((await keysOf(prefix)).length).toBeGreaterThan(15);
}

describe('obliterate', () => {
  test.each([1, 4])('leaves no key of a queue with %i shards', async (shards) => {
    const bench = new Bench({ shards });
    await fill(bench);
    expect(await bench.queue.obliterate()).toBe(true);
    expect(await keysOf(bench.prefix)).toEqual([]);
    expect(await bench.queue.obliterate()).toBe(false);
    expect(await keysOf(bench.prefix)).toEqual([]);
  });

  test('leaves other queues alone, also one whose name begins the same', async () => {
    const { queue, prefix } = newQueue();
    const other = newQueue({ prefix }, 'q%1');
    for (const one of [queue, other.queue]) await one.enqueue('t', 1, { id: 'a' });
    expect(await queue.obliterate()).toBe(true);
    expect(await Queue.names(redis, { prefix })).toEqual(['q%1']);
    expect(await other.queue.get('a')).toMatchObject({ state: 'ready' });
  });

  test('takes one call for a shard, however many tasks a plain queue has', async () => {
    const { queue, prefix } = newQueue();
    for (let part = 0; part < 10; part += 1) {
      await queue.enqueueMany(Array.from({ length: 1_000 }, (_, n) => ({ name: 't', payload: n })));
    }
    let calls = 0;
    const counting = interposed(connect(), async (_, send) => {
      calls += 1;
      return send();
    });
    expect(await new Queue(counting, 'q', { prefix }).obliterate()).toBe(true);
    expect(calls).toBeLessThan(10);
    expect(await keysOf(prefix)).toEqual([]);
  });

  test('is refused while workers wait or tasks run, and then changes nothing', async () => {
    const bench = new Bench();
    await bench.work();
    await until(async () => (await redis.zcard(bench.keys.of.idle)) === 1);
    const inUse = { code: 'ERR_QUEUE_IN_USE', queue: 'q', active: 0, workers: 1 };
    await expect(bench.queue.obliterate()).rejects.toMatchObject(inUse);
    const id = await bench.task('active');
    await expect(bench.queue.obliterate({ force: false })).rejects.toMatchObject({ ...inUse, active: 1 });
    expect(await Queue.names(redis, { prefix: bench.prefix })).toEqual(['q']);
    expect(await bench.queue.get(id)).toMatchObject({ state: 'active' });
  });

  test('with force it cancels what runs, and workers go on with new tasks', async () => {
    const bench = new Bench();
    await bench.work();
    const id = await bench.task('active');
    const { signal } = bench.hanging.get(id)!;
    expect(await bench.queue.obliterate({ force: true })).toBe(true);
    await until(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'ERR_TASK_CANCELLED' });
    expect(await Queue.exists(redis, 'q', { prefix: bench.prefix })).toBe(false);
    await bench.task('succeeded');
    await bench.expectCounts({ succeeded: 1 });
    expect(await Queue.exists(redis, 'q', { prefix: bench.prefix })).toBe(true);
  });

  test('a worker that completes a removed task reports ERR_LEASE_LOST', async () => {
    const { queue, work, keys } = newQueue();
    const errors: unknown[] = [];
    let end = (): void => undefined;
    await work(
      {
        t: () =>
          new Promise<void>((resolve) => {
            end = resolve;
          }),
      },
      { onError: (error) => errors.push(error) },
    );
    await queue.enqueue('t', 1);
    await counted(queue, { active: 1 });
    // As if the message of the cancellation was lost: the keys alone go.
    await redis.unlink(...keys.all);
    end();
    await until(() => errors.length > 0);
    expect(errors).toMatchObject([{ code: 'ERR_LEASE_LOST', queue: 'q' }]);
  });

  test('another process goes on as with a new queue: with its name, its schedules and other shards', async () => {
    const { queue, prefix, work } = newQueue({ shards: 4 });
    const elsewhere = new Queue<Tasks>(connect(), 'q', { prefix });
    for (let n = 0; n < 8; n += 1) await elsewhere.enqueue('t', n);
    expect(await queue.obliterate()).toBe(true);
    const again = new Queue<Tasks>(connect(), 'q', { prefix, shards: 1, priorities: ['only'] });
    await again.enqueue('t', 'first');
    for (let n = 0; n < 8; n += 1) await elsewhere.enqueue('t', n);
    expect(await Queue.names(redis, { prefix })).toEqual(['q']);
    expect(await again.counts()).toMatchObject({ ready: 9 });
    expect(await again.settings()).toMatchObject({ shards: 1, priorities: ['only'] });

    await again.obliterate();
    expect(await elsewhere.schedule('daily', { everyMs: 3_600_000 }, 't', 1)).toMatchObject({
      isChanged: true,
    });
    expect(await Queue.names(redis, { prefix })).toEqual(['q']);
    await again.obliterate();
    const { id } = await elsewhere.enqueueFlow({
      name: 't',
      payload: 0,
      children: [{ name: 't', payload: 1 }],
    });
    expect(await Queue.names(redis, { prefix })).toEqual(['q']);
    await work({ t: (payload) => payload });
    expect(await elsewhere.result(id)).toBe(0);
  });

  test('a parent in another queue learns that its child was removed', async () => {
    const { prefix, queue } = newQueue();
    const other = newQueue({ prefix }, 'other').queue;
    const flow = await queue.enqueueFlow({
      name: 't',
      payload: 0,
      children: [{ queue: 'other', name: 't', payload: 1, options: { delayMs: 60_000 } }],
    });
    expect(await other.obliterate()).toBe(true);
    expect(await queue.get(flow.id)).toMatchObject({
      state: 'dead',
      error: { message: expect.stringContaining('removed') },
    });
    await expect(queue.result(flow.id)).rejects.toMatchObject({ code: 'ERR_TASK_DEAD' });
  });

  test('the end of a child creates no key of the queue of its parent', async () => {
    const { prefix, queue } = newQueue();
    const other = newQueue({ prefix }, 'other');
    await queue.enqueueFlow({ name: 't', payload: 0, children: [{ queue: 'other', name: 't', payload: 1 }] });
    await queue.obliterate();
    await other.work({ t: () => 1 });
    await counted(other.queue, { succeeded: 1 });
    await until(async () => (await redis.exists(other.keys.of.outbox)) === 0);
    expect((await keysOf(prefix)).filter((key) => key.includes('{q}'))).toEqual([]);
  });

  test('a pending result rejects', async () => {
    const { queue } = newQueue();
    const { id } = await queue.enqueue('t', 1);
    const result = queue.result(id, { waitMs: 60_000 }).catch((error: unknown) => error);
    await until(async () => (await queue.settings()).hasOptional);
    await queue.obliterate();
    expect(await result).toMatchObject({ code: 'ERR_TASK_NOT_FOUND' });
  });

  test('after a crash at any step a second call removes the rest', async () => {
    const client = connect();
    const crash = async (dies: number): Promise<unknown> => {
      const { queue, prefix } = newQueue({ shards: 2 });
      const task = { name: 't', payload: 1 };
      await queue.enqueueMany(['a', 'b'].map((group) => ({ ...task, options: { group } })));
      await queue.enqueueFlow({ ...task, children: [task, task] });
      const dying = interposed(client, async (step, send) => {
        if (step >= dies) throw new Error('killed');
        return send();
      });
      const first = await new Queue(dying, 'q', { prefix })
        .obliterate()
        .catch((error: Error) => error.message);
      await queue.obliterate();
      expect(await keysOf(prefix)).toEqual([]);
      return first;
    };
    const steps = Array.from({ length: 50 }, (_, n) => n + 1);
    const ends = await Promise.all(steps.map(crash));
    expect(new Set(ends)).toEqual(new Set(['killed', true]));
    expect(ends.filter((end) => end === 'killed').length).toBeGreaterThan(10);
  });

  test('options that there are not', async () => {
    const { queue } = newQueue();
    // @ts-expect-error -- no such option
    await expect(queue.obliterate({ forced: true })).rejects.toThrow('obliterate has no option "forced"');
    // @ts-expect-error -- no boolean
    await expect(queue.obliterate({ force: 1 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  });
});

test('a queue that only a worker knows has nothing to remove', async () => {
  const prefix = freshPrefix();
  await launch(redis, 'q', { t: () => 1 }, { prefix });
  const queue = new Queue(redis, 'q', { prefix });
  await until(() => queue.names().then((names) => names.length === 1));
  expect(await queue.obliterate({ force: true })).toBe(true);
  expect(await queue.obliterate().catch((error: { code: string }) => error.code)).toBe('ERR_QUEUE_IN_USE');
});
