import { describe, expect, test } from '@jest/globals';
import { Queue, QueueFullError, TaskConflictError } from '@mortise/queues';
import type { EnqueueOptions, NewTask } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { watched } from '../fixture/commands-of.js';
import { serverNow } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';

function task(payload: unknown, options: EnqueueOptions = {}): NewTask<Tasks> {
  return { name: 't', payload, options };
}

const held = async (queue: Queue<Tasks>): Promise<number> => {
  const { ready, scheduled } = await queue.counts();
  return ready + scheduled;
};

describe('tasks of one script call are stored all or none', () => {
  test.each<[string, EnqueueOptions]>([
    ['ready', {}],
    ['delayed', { delayMs: 60_000 }],
    ['of two priorities', { priority: 'high' }],
    ['of a group', { group: 'g' }],
  ])('an id with another payload: tasks that are %s', async (_, options) => {
    const { queue } = newQueue();
    await queue.enqueue('t', 'old', { id: 'dup' });
    const storing = queue.enqueueMany([
      task(1, { ...options, id: 'a' }),
      task(2, options),
      task('new', { id: 'dup' }),
      task(3, options),
    ]);
    await expect(storing).rejects.toMatchObject({ code: 'ERR_TASK_CONFLICT', taskId: 'dup', stored: [] });
    await expect(storing).rejects.toBeInstanceOf(TaskConflictError);
    expect(await held(queue)).toBe(1);
    expect(await queue.get('a')).toBeNull();
    // The ids are not taken.
    await queue.enqueueMany([task('other', { id: 'a' }), task('old', { id: 'dup' })]);
    expect(await queue.get('a')).toMatchObject({ payload: 'other' });
  });

  test('the same id twice, with different payloads', async () => {
    const { queue } = newQueue();
    const storing = queue.enqueueMany([task(1, { id: 'x' }), task(2, { id: 'x' })]);
    await expect(storing).rejects.toMatchObject({ code: 'ERR_TASK_CONFLICT', taskId: 'x' });
    expect(await queue.get('x')).toBeNull();
    expect(await queue.enqueueMany([task(1, { id: 'x' }), task(1, { id: 'x' })])).toMatchObject([
      { isDuplicate: false },
      { isDuplicate: true },
    ]);
  });

  test('a queue without room for all', async () => {
    const { queue } = newQueue();
    await queue.configure({ maxTasks: 3 });
    await queue.enqueue('t', 0, { id: 'there' });
    const storing = queue.enqueueMany([task(1), task(2), task(3)]);
    await expect(storing).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL', maxTasks: 3, stored: [] });
    await expect(storing).rejects.toBeInstanceOf(QueueFullError);
    expect(await held(queue)).toBe(1);
    // A stored task needs none.
    await queue.enqueueMany([task(1), task(2), task(0, { id: 'there' })]);
    expect(await held(queue)).toBe(3);
  });

  test('others of the tick succeed or fail each by itself, whatever their order', async () => {
    const { client, sent, quiet } = await watched();
    const queue = new Queue<Tasks>(client, 'q', { prefix: freshPrefix() });
    await queue.enqueue('t', 'old', { id: 'dup' });
    await quiet();
    sent.length = 0;
    const outcomes = await Promise.allSettled([
      queue.enqueue('t', 1, { id: 'before' }),
      queue.enqueueMany([task('left out', { id: 'before 2' }), task('new', { id: 'dup' })]),
      queue.enqueue('t', 'new', { id: 'dup' }),
      queue.enqueueMany([task(1, { id: 'before' }), task(2, { id: 'whole' })]),
      queue.enqueueMany([task(2, { id: 'whole' }), task(3, { id: 'whole' }), task(4, { id: 'left' })]),
      queue.enqueue('t', 5, { id: 'left' }),
      queue.enqueue('t', 6, { id: 'before 2' }),
    ]);
    await quiet();
    expect(outcomes.map(({ status }) => status[0])).toEqual(['f', 'r', 'r', 'f', 'r', 'f', 'f']);
    expect(sent.map(({ what }) => what)).toEqual(['queue.enqueue']);
    const payloads = ['before', 'before 2', 'dup', 'whole', 'left'].map(
      async (id) => (await queue.get(id))!.payload,
    );
    expect(await Promise.all(payloads)).toEqual([1, 6, 'old', 2, 5]);
    expect(await held(queue)).toBe(5);
  });

  test('single tasks fill up what room there is, and calls that do not fit leave it to those behind them', async () => {
    const { queue } = newQueue();
    await queue.configure({ maxTasks: 3 });
    const outcomes = await Promise.allSettled([
      queue.enqueue('t', 1),
      queue.enqueueMany([task(2), task(3), task(4)]),
      queue.enqueueMany([task(5), task(6)]),
      queue.enqueue('t', 7),
    ]);
    expect(outcomes.map(({ status }) => status[0])).toEqual(['f', 'r', 'f', 'r']);
    expect(await held(queue)).toBe(3);
  });

  test('up to 64 tasks are one script call, whatever else is enqueued in that tick', async () => {
    const { queue } = newQueue();
    await queue.enqueue('t', 'old', { id: 'dup' });
    const singles = Array.from({ length: 60 }, (_, index) => queue.enqueue('t', index));
    const many = queue.enqueueMany([
      ...Array.from({ length: 63 }, (_, index) => task(index)),
      task(0, { id: 'dup' }),
    ]);
    await expect(many).rejects.toMatchObject({ code: 'ERR_TASK_CONFLICT', stored: [] });
    await Promise.all(singles);
    expect(await held(queue)).toBe(61);
  });

  test('a priority that the queue no longer has', async () => {
    const prefix = freshPrefix();
    const stale = new Queue<Tasks>(redis, 'q', { prefix });
    await stale.enqueue('t', 0);
    const settings = `${prefix}:queues:{q}:settings`;
    const stored = (await redis.get(settings))!;
    expect(stored).toContain('high,medium,low');
    await redis.set(settings, stored.replace('high,medium,low', 'high,medium,last'));
    const outcomes = await Promise.allSettled([
      stale.enqueue('t', 1),
      stale.enqueueMany([task(2, { delayMs: 60_000 }), task(3), task(4, { priority: 'low' }), task(5)]),
      stale.enqueue('t', 6),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'ERR_INVALID_ARG' } },
      { status: 'fulfilled' },
    ]);
    expect(await held(new Queue<Tasks>(redis, 'q', { prefix }))).toBe(3);
  });
});

describe('calls of more than one script', () => {
  test('tell which tasks were stored', async () => {
    const { queue } = newQueue();
    await queue.enqueue('t', 'old', { id: 'dup' });
    const tasks = Array.from({ length: 150 }, (_, index) =>
      task(index, { id: index === 70 ? 'dup' : `${index}` }),
    );
    const error = await queue.enqueueMany(tasks).catch((one: unknown) => one as TaskConflictError);
    expect(error).toMatchObject({ code: 'ERR_TASK_CONFLICT', taskId: 'dup' });
    const expected = [
      ...Array.from({ length: 64 }, (_, n) => n),
      ...Array.from({ length: 22 }, (_, n) => 128 + n),
    ];
    expect((error as TaskConflictError).stored).toEqual(expected.map(String));
    expect(await held(queue)).toBe(1 + expected.length);
  });

  test('tell it over shards, too', async () => {
    const { queue } = newQueue({ shards: 4 });
    await queue.enqueue('t', 'old', { id: 'dup' });
    const tasks = Array.from({ length: 20 }, (_, index) => task(index, { id: `${index}` }));
    const error = await queue
      .enqueueMany([...tasks, task('new', { id: 'dup' })])
      .catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'ERR_TASK_CONFLICT', taskId: 'dup' });
    const { stored } = error as TaskConflictError;
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.length).toBeLessThan(20);
    expect(await held(queue)).toBe(1 + stored.length);
    for (const id of stored) expect(await queue.get(id)).toMatchObject({ id });
  });

  test('a full queue takes calls as long as they fit', async () => {
    const { queue } = newQueue();
    await queue.configure({ maxTasks: 100 });
    const error = await queue
      .enqueueMany(Array.from({ length: 150 }, (_, index) => task(index)))
      .catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect((error as QueueFullError).stored).toHaveLength(64 + 22);
    expect(await held(queue)).toBe(64 + 22);
  });
});

test('tasks after others that are not plain do not change their places or times', async () => {
  const { queue } = newQueue();
  const before = await serverNow(redis);
  await queue.enqueueMany([
    task(1, { id: 'a', delayMs: 60_000 }),
    task(2, { id: 'b' }),
    task(3, { id: 'c', priority: 'low' }),
  ]);
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((id) => queue.get(id)));
  expect([a!.state, b!.state, c!.state, c!.priority]).toEqual(['scheduled', 'ready', 'ready', 'low']);
  expect(a!.runAt!).toBeGreaterThanOrEqual(before + 60_000);
});

test('tasks are read at the call, the last one as the first', async () => {
  const { queue } = newQueue();
  await queue.enqueue('t', 0);
  const payloads = Array.from({ length: 200 }, (_, index) => ({ index, text: 'given' }));
  const headers = { by: 'given' };
  const storing = queue.enqueueMany(payloads.map((payload) => task(payload, { headers })));
  for (const payload of payloads) payload.text = 'changed';
  headers.by = 'changed';
  for (const [index, { id }] of (await storing).entries()) {
    expect(await queue.get(id)).toMatchObject({
      payload: { index, text: 'given' },
      headers: { by: 'given' },
    });
  }
});

describe('a list that is none', () => {
  test.each<[unknown, string]>([
    [[null], 'task 0 must be an object, got null'],
    [[task(1), 5], 'task 1 must be an object, got number'],
    [[task(1), ['t', 1]], 'task 1 must be an object, got an array'],
    // oxlint-disable-next-line no-sparse-arrays -- what is looked at
    [[task(1), , task(2)], 'task 1 must be an object, got undefined'],
    [[{ name: 't', payload: 1, delayMs: 5 }], 'a task of enqueueMany has no option "delayMs"'],
    [{ length: 1 }, 'tasks must be an array'],
  ])('%j', async (tasks, message) => {
    const { queue } = newQueue();
    const storing = queue.enqueueMany(tasks as NewTask<Tasks>[]);
    await expect(storing).rejects.toThrow(message);
    await expect(storing).rejects.toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG' });
    expect(await held(queue)).toBe(0);
  });
});
