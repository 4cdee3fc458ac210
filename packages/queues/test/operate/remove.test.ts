import { describe, expect, test } from '@jest/globals';
import { Queue, TaskActiveError } from '@mortise/queues';
import type { TaskState } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { until } from '../fixture/until.js';

const redis = connect();

describe('remove', () => {
  test.each<TaskState>(['ready', 'scheduled', 'retrying', 'succeeded', 'dead', 'cancelled'])(
    'a %s task leaves nothing behind',
    async (state) => {
      const bench = new Bench({}, redis);
      if (state !== 'ready') await bench.work();
      const id = await bench.task(state);
      expect(await bench.queue.remove(id)).toBe(true);
      expect(await bench.queue.get(id)).toBeNull();
      await bench.expectCounts({});
      expect(await bench.keysLeft()).toEqual([]);
      expect(await bench.queue.remove(id)).toBe(false);
    },
  );

  test('a task with a group, ready or holding it', async () => {
    const bench = new Bench({}, redis);
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.task('ready', 'a', { group: 'g' });
    await bench.queue.remove('a');
    expect(await bench.keysLeft()).toEqual(['groups']);
    await bench.work();
    await bench.task('retrying', 'b', { group: 'g' });
    await bench.queue.enqueue('ok', 1, { id: 'c', group: 'g' });
    expect(await bench.queue.remove('b')).toBe(true);
    await until(async () => (await bench.queue.get('c'))?.state === 'succeeded');
  });

  test('a running task is refused, and runs on', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const id = await bench.task('active');
    const refusal: unknown = await bench.queue.remove(id).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TaskActiveError);
    expect(refusal).toMatchObject({ code: 'ERR_TASK_ACTIVE', queue: 'q', taskId: id });
    await bench.expectCounts({ active: 1 });
    expect(bench.hanging.get(id)!.signal.aborted).toBe(false);
  });

  test('in one tick each caller gets its own answer', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const active = await bench.task('active');
    const scheduled = await bench.task('scheduled');
    const answers = await Promise.allSettled(
      ['nobody', active, scheduled, scheduled].map((id) => bench.queue.remove(id)),
    );
    expect(answers).toMatchObject([
      { value: false },
      { status: 'rejected' },
      { value: true },
      { value: false },
    ]);
  });

  test('an id that was remembered can be used again', async () => {
    const bench = new Bench({}, redis);
    await bench.queue.enqueue('ok', 1, { id: 'a', dedupMs: 60_000 });
    await bench.queue.remove('a');
    expect(await bench.queue.enqueue('ok', 2, { id: 'a' })).toMatchObject({ isDuplicate: false });
    expect(await bench.queue.get('a')).toMatchObject({ payload: 2 });
  });

  test('ids of any form, progress and logs too', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    for (const id of HOSTILE_IDS) {
      await bench.task('active', id);
      await until(() => bench.hanging.has(id));
      await bench.hanging.get(id)!.progress({ done: 1 });
      await bench.hanging.get(id)!.log('a line');
    }
    expect(await bench.queue.get('}x')).toMatchObject({ progress: { done: 1 }, logs: [{ text: 'a line' }] });
    for (const id of HOSTILE_IDS) await bench.queue.cancel(id);
    for (const id of HOSTILE_IDS) expect(await bench.queue.remove(id)).toBe(true);
    expect(await bench.keysLeft()).toEqual([]);
  });

  test('leaves no tombstones where tasks come and go at the ends of a long list', async () => {
    const bench = new Bench({}, redis);
    await bench.queue.enqueueMany(Array.from({ length: 1_200 }, (_, n) => ({ name: 'ok', payload: n })));
    for (let n = 0; n < 20; n += 1) {
      await bench.task('ready', 'debounced');
      await bench.queue.remove('debounced');
    }
    expect(await redis.exists(bench.keys.of.tombstones)).toBe(0);
    await bench.expectCounts({ ready: 1_200 });
  });

  test('finds a task of a queue with shards whose group decides where it lies', async () => {
    const bench = new Bench({ shards: 4 }, redis);
    const ids = Array.from({ length: 20 }, (_, n) => `n${n}`);
    for (const id of ids) await bench.task('ready', id, { group: `g${id}` });
    const other = new Queue(redis, 'q', { prefix: bench.prefix });
    for (const id of ids) expect(await other.remove(id)).toBe(true);
    await bench.expectCounts({});
    expect(await other.remove('n0')).toBe(false);
  });
});
