import { describe, expect, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { Child, FlowIds, FlowTask, TaskContext } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { launch } from '../fixture/launch.js';
import { endGrace } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, reached, until } from '../fixture/until.js';

type More = Omit<Partial<FlowTask>, 'queue'> & { queue?: string };
function leaf(payload: unknown, { queue, ...more }: More = {}): FlowTask {
  const task = { name: 'leaf', payload, ...more };
  return queue === undefined ? task : { ...task, queue };
}
const sum = async (_: unknown, context: TaskContext): Promise<number> =>
  (await context.children()).reduce((total, { result }) => total + ((result as number | undefined) ?? 0), 0);

const leafOf = (payload: unknown, id: string) => leaf(payload, { options: { id } });
const parent = (children: FlowTask[], id?: string): FlowTask => ({
  name: 'sum',
  payload: 0,
  ...(id !== undefined && { options: { id } }),
  children,
});
const conflict = (taskId: string) => ({ code: 'ERR_TASK_CONFLICT', queue: 'q', taskId });

function newQueues() {
  const given = newQueue();
  return { ...given, other: newQueue({ prefix: given.prefix }, 'other').queue };
}

describe('children', () => {
  test('are counted, and those that have ended have results, in any shard', async () => {
    const { queue, work } = newQueue({ shards: 4 });
    const opened = gate();
    const flow = await queue.enqueueFlow({
      name: 'see',
      payload: 0,
      onChildFailure: 'ignore',
      children: [leaf(1), { name: 'slow', payload: 2 }, { name: 'bad', payload: 3 }],
    });
    const all = flow.children.map(({ id }) => ({ queue: 'q', id }));
    expect(await queue.children(flow.id)).toEqual({ count: 3, ended: [], all });
    await work({
      leaf: (payload) => payload,
      slow: () => opened.passed,
      bad: () => {
        throw new Discard('no');
      },
      see: () => 'seen',
    });
    await until(async () => (await queue.children(flow.id))!.ended.length === 2);
    const { count, ended } = (await queue.children(flow.id))!;
    expect(count).toBe(3);
    expect(ended).toMatchObject([
      { id: flow.children[0]!.id, queue: 'q', name: 'leaf', state: 'succeeded', result: 1 },
      { id: flow.children[2]!.id, name: 'bad', state: 'dead', error: { message: 'no' } },
    ]);
    opened.open();
    expect(await queue.result(flow.id)).toBe('seen');
    // Redis has removed the ends: the parent won't read them again.
    expect(await queue.children(flow.id)).toEqual({ count: 3, ended: [], all });
    expect(await queue.children(flow.children[0]!.id)).toBeNull();
    expect(await queue.children('unknown')).toBeNull();
  });
});

describe('the addresses of children', () => {
  test('are those that enqueueFlow returned, at each level, with given ids and in other queues', async () => {
    const { queue, other } = newQueues();
    const flow = await queue.enqueueFlow(
      parent(
        [
          leaf(1),
          leaf(2),
          leafOf(3, 'given'),
          leaf(4, { queue: 'other' }),
          leaf(5, { queue: 'other', options: { id: 'there' } }),
          leaf(6, { queue: 'other', children: [leaf(7)] }),
          leaf(8),
        ],
        'root',
      ),
    );
    const addressesOf = ({ children }: FlowIds) =>
      children.map(({ queue: name, id }) => ({ queue: name, id }));
    expect((await queue.children('root'))!.all).toEqual(addressesOf(flow));
    const branch = flow.children[5]!;
    expect((await other.children(branch.id))!.all).toEqual(addressesOf(branch));
  });

  test('are not stored where they are too long', async () => {
    const { queue } = newQueue();
    const children = Array.from({ length: 17 }, (_, n) => leafOf(n, String(n).padEnd(1_024, '.')));
    const { id } = await queue.enqueueFlow(parent(children));
    expect(await queue.children(id)).toEqual({ count: 17, ended: [] });
  });

  test('go with the record of the parent', async () => {
    const { queue } = newQueue();
    const { id } = await queue.enqueueFlow(parent([leaf(1)]));
    expect(await queue.remove(id)).toBe(true);
    expect(await queue.children(id)).toBeNull();
  });
});

describe('enqueueFlow', () => {
  test('a parent runs when its children have ended, and has their results in order', async () => {
    const { queue, keys, work } = newQueue();
    const flow = await queue.enqueueFlow({
      name: 'sum',
      payload: 'p',
      children: [leaf(1), leaf(2), leaf(3)],
    });
    expect(flow).toMatchObject({ queue: 'q', isDuplicate: false, children: [{ queue: 'q' }, {}, {}] });
    expect(await queue.get(flow.id)).toMatchObject({
      state: 'waiting',
      name: 'sum',
      payload: 'p',
      attempt: 0,
    });
    expect(await queue.counts()).toMatchObject({ waiting: 1, ready: 3, scheduled: 0 });
    const opened = gate();
    let seen: Child[] = [];
    await work({
      leaf: async (payload) => (await opened.passed, payload),
      sum: async (payload, context) => {
        seen = await context.children();
        expect(payload).toBe('p');
        return sum(payload, context);
      },
    });
    await counted(queue, { active: 3 });
    expect(await queue.get(flow.id)).toMatchObject({ state: 'waiting' });
    opened.open();
    expect(await queue.result(flow.id)).toBe(6);
    expect(seen).toMatchObject(
      flow.children.map(({ id }, index) => ({
        id,
        queue: 'q',
        name: 'leaf',
        state: 'succeeded',
        result: index + 1,
      })),
    );
    expect(await queue.counts()).toMatchObject({ waiting: 0, succeeded: 4, dead: 0 });
    // Entries for the parent are removed step by step.
    await until(async () => (await redis.exists(keys.of.flows, keys.of.outbox)) === 0);
  });

  test('a tree over queues, shards and groups, whose tasks are not retained', async () => {
    const { queue, prefix } = newQueue({ shards: 3 });
    const other = new Queue<Tasks>(redis, 'other', { prefix, priorities: ['now', 'later'] });
    const third = new Queue<Tasks>(redis, '}x', { prefix, shards: 2 });
    // A queue has its priorities and shards from whoever uses it first.
    for (const one of [queue, other, third]) await one.configure({ concurrency: 1_000 });
    const leaves = (count: number, more: More): FlowTask[] =>
      Array.from({ length: count }, () => leaf(1, more));
    const handlers = { leaf: (payload: number) => payload, sum };
    for (const name of ['q', 'other', '}x'])
      await launch(redis, name, handlers, { prefix, keepSucceeded: 0 });
    const flow: FlowTask = {
      name: 'sum',
      payload: null,
      options: { group: 'one' },
      children: [
        ...leaves(3, {}),
        {
          queue: 'other',
          name: 'sum',
          payload: null,
          options: { priority: 'now', delayMs: 10 },
          children: [
            ...leaves(5, { queue: '}x', options: { group: 'g' } }),
            { name: 'sum', payload: 1, children: leaves(20, { options: { delayMs: 5 } }) },
          ],
        },
        {
          queue: '}x',
          name: 'sum',
          payload: null,
          children: leaves(7, { queue: 'q', options: { group: 'h' } }),
        },
        leaf(1, { queue: 'other', children: [] }),
      ],
    };
    const roots = await Promise.all(Array.from({ length: 5 }, () => queue.enqueueFlow(flow)));
    // Some are over before the question comes.
    const ends = await Promise.allSettled(roots.map(({ id }) => queue.result(id)));
    for (const end of ends) {
      expect(end).toMatchObject(
        end.status === 'fulfilled' ? { value: 36 } : { reason: { code: 'ERR_TASK_NOT_FOUND' } },
      );
    }
    const all = [queue, other, third];
    await until(async () => {
      const counts = await Promise.all(all.map((one) => one.counts()));
      return counts.every((each) => Object.values(each).every((count) => count === 0));
    });
  });

  test("an idle worker of the parent's queue is woken when the last child has ended elsewhere", async () => {
    const { queue, prefix, keys, work } = newQueue();
    const idle = await work({ sum });
    const { id } = await queue.enqueueFlow(
      parent([leaf(1, { queue: 'other' }), leaf(2, { queue: 'other' })]),
    );
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const listener = connect();
    const messages: string[] = [];
    await listener.subscribe(keys.wakeChannel(idle.id));
    listener.on('message', (_, message: string) => messages.push(message));
    await launch(redis, 'other', { leaf: (payload) => payload }, { prefix });
    expect(await queue.result(id)).toBe(3);
    expect(messages).toEqual(['w:']);
  });

  test('a parent is dead when a child is, and so are those above it; others go on', async () => {
    const { queue, keys, work } = newQueue();
    const opened = gate();
    await work({
      leaf: async (payload) => (await opened.passed, payload),
      bad: () => Promise.reject(new Discard('no')),
      sum,
    });
    const flow = await queue.enqueueFlow({
      name: 'sum',
      payload: 1,
      children: [leaf(1), { name: 'sum', payload: 2, children: [{ name: 'bad', payload: 1 }, leaf(2)] }],
    });
    const [first, middle] = flow.children as [FlowIds, FlowIds];
    const reason = `its child "bad", task "${middle.children[0]!.id}" of queue "q", is dead: Discard: no`;
    await expect(queue.result(middle.id)).rejects.toMatchObject({
      code: 'ERR_TASK_DEAD',
      reason: expect.stringContaining(reason),
    });
    await expect(queue.result(flow.id)).rejects.toMatchObject({
      code: 'ERR_TASK_DEAD',
      reason: expect.stringContaining(
        `its child "sum", task "${middle.id}" of queue "q", is dead: ${reason}`,
      ),
    });
    expect(await queue.get(first.id)).toMatchObject({ state: 'active' });
    opened.open();
    expect(await queue.result(first.id)).toBe(1);
    expect(await queue.counts()).toMatchObject({ waiting: 0, dead: 3 });
    // By hand, a parent runs with what there is.
    expect(await queue.result(middle.children[1]!.id)).toBe(2);
    await until(async () => (await redis.exists(keys.of.outbox)) === 0);
    await queue.retry(middle.id);
    expect(await queue.result(middle.id)).toBe(2);
  });

  test('a cancelled or removed child fails its parent, too, or is passed over', async () => {
    const { queue, keys, work } = newQueue();
    const late = { delayMs: 60_000 };
    const children = [
      leaf(1, { options: late }),
      leaf(2, { options: late }),
      leaf(3, { options: late }),
      leaf(4),
    ];
    const strict = await Promise.all([0, 1].map(() => queue.enqueueFlow(parent(children))));
    const lenient = await queue.enqueueFlow({ name: 'see', payload: 0, onChildFailure: 'ignore', children });
    const ids = lenient.children.map(({ id }) => id);
    await queue.cancel(strict[0]!.children[0]!.id, { reason: 'sold' });
    await queue.remove(strict[1]!.children[1]!.id);
    await queue.cancel(ids[0]!);
    await queue.remove(ids[1]!);
    let seen: Child[] = [];
    await work({
      leaf: (payload) => (payload === 3 ? Promise.reject(new Discard('no')) : payload),
      see: async (_, context) => void (seen = await context.children()),
    });
    for (const [index, what] of ['was cancelled: sold', 'was removed'].entries()) {
      await expect(queue.result(strict[index]!.id)).rejects.toMatchObject({
        code: 'ERR_TASK_DEAD',
        reason: expect.stringContaining(what),
      });
    }
    expect(await queue.get(lenient.id)).toMatchObject({ state: 'waiting' });
    await queue.promote(ids[2]!);
    await queue.result(lenient.id);
    expect(seen).toMatchObject([
      { id: ids[0], state: 'cancelled' },
      { id: ids[1], state: 'removed' },
      { id: ids[2], state: 'dead', error: { message: expect.stringContaining('no') } },
      { id: ids[3], state: 'succeeded', result: 4 },
    ]);
    for (const { id } of strict) await queue.remove(id);
    await queue.drain({ scheduled: true });
    await until(async () => (await redis.exists(keys.of.flows, keys.of.outbox)) === 0);
  });

  test('a parent that was cancelled or removed while it waited is not run; its children are', async () => {
    const { queue, keys, work } = newQueue();
    const children = Array.from({ length: 300 }, (_, index) => leaf(index));
    const flows = await Promise.all([0, 1].map(() => queue.enqueueFlow(parent(children))));
    const [cancelled, removed] = flows.map(({ id }) => id) as [string, string];
    await queue.cancel(cancelled);
    await queue.remove(removed);
    expect(await queue.counts()).toMatchObject({ waiting: 0, ready: 600, cancelled: 1 });
    await work({ leaf: (payload) => payload });
    await counted(queue, { succeeded: 600 });
    expect(await queue.counts()).toMatchObject({ waiting: 0, ready: 0, cancelled: 1, dead: 0 });
    await queue.clean('cancelled');
    await until(async () => (await redis.exists(keys.of.flows, keys.of.outbox)) === 0);
  });

  test('with an id it is stored once, and a repeated call names the same tasks', async () => {
    const { queue } = newQueue();
    const flow = parent([leaf(1), leaf(2)], 'order 7');
    const first = await queue.enqueueFlow(flow);
    expect(first).toMatchObject({ id: 'order 7', isDuplicate: false });
    expect(await queue.enqueueFlow(flow)).toEqual({ ...first, isDuplicate: true });
    expect(await queue.counts()).toMatchObject({ waiting: 1, ready: 2 });
    await expect(queue.enqueueFlow({ ...flow, payload: 1 })).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
    const childless = parent([], 'order 8');
    expect(await queue.enqueueFlow(childless)).toMatchObject({
      id: 'order 8',
      isDuplicate: false,
      children: [],
    });
    expect(await queue.enqueueFlow(childless)).toMatchObject({ isDuplicate: true });
    expect(await queue.get('order 8')).toMatchObject({ state: 'ready' });
  });

  test('a worker whose slots are all taken reports the ends of children to other queues', async () => {
    const { queue, other, prefix } = newQueues();
    const held = gate();
    await launch(redis, 'other', { slow: () => held.passed }, { prefix, concurrency: 1 });
    await other.enqueue('slow', 1);
    await counted(other, { active: 1 });
    const flow = await queue.enqueueFlow(parent([leaf(1, { queue: 'other' })]));
    await other.cancel(flow.children[0]!.id);
    await reached(queue, flow.id, 'dead');
    expect(await other.counts()).toMatchObject({ active: 1, cancelled: 1 });
    held.open();
  });

  test('a child for which there is no room is stored when there is', async () => {
    const { queue, other, prefix, keys } = newQueues();
    await other.configure({ maxTasks: 1 });
    const { id: first } = await other.enqueue('leaf', 0);
    const flow = await queue.enqueueFlow(parent([leaf(1), leaf(2, { queue: 'other' })]));
    const errors: unknown[] = [];
    await launch(
      redis,
      ['q', 'other'],
      { leaf: (payload) => payload, sum },
      { prefix, onError: (error) => errors.push(error) },
    );
    await other.result(first);
    await other.clean('succeeded');
    await endGrace(redis, keys);
    // Its worker comes by.
    await queue.enqueue('leaf', 4);
    expect(await queue.result(flow.id)).toBe(3);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_QUEUE_FULL' });
  });

  test('is refused whole when any of it is wrong', async () => {
    const { queue } = newQueue();
    const deep = (levels: number): FlowTask => (levels === 1 ? leaf(1) : parent([deep(levels - 1)]));
    const with1 = (child: FlowTask): FlowTask => parent([leaf(1), child]);
    const wrong: [FlowTask, object][] = [
      [deep(11), { code: 'ERR_INVALID_FLOW' }],
      [{ ...leaf(0), children: Array.from({ length: 1_000 }, () => leaf(1)) }, { code: 'ERR_INVALID_FLOW' }],
      [
        { ...leaf(0), children: Array.from({ length: 40 }, () => leaf('x'.repeat(250_000))) },
        { code: 'ERR_INVALID_FLOW' },
      ],
      [{ ...with1(leaf(1, { options: { id: 'a' } })), options: { id: 'a' } }, { code: 'ERR_INVALID_FLOW' }],
      [with1(leaf(1, { options: { id: 'a', dedupMs: 5 } })), { code: 'ERR_INVALID_FLOW' }],
      [with1(leaf(undefined)), { code: 'ERR_INVALID_PAYLOAD' }],
      [with1(leaf('x'.repeat(300_000))), { code: 'ERR_PAYLOAD_TOO_LARGE' }],
      [with1(leaf(1, { name: '' })), { name: 'RangeError' }],
      [with1(leaf(1, { queue: '' })), { name: 'RangeError' }],
      [with1(leaf(1, { queue: 'other', options: { priority: 'urgent' } })), { name: 'RangeError' }],
      [with1(leaf(1, { onChildFailure: 'retry' as never })), { name: 'RangeError' }],
      [with1(leaf(1, { children: {} as never })), { name: 'TypeError' }],
      [with1(null as never), { name: 'TypeError' }],
    ];
    for (const [flow, error] of wrong) await expect(queue.enqueueFlow(flow)).rejects.toMatchObject(error);
    const counts = await queue.counts();
    expect(Object.values(counts).every((count) => count === 0)).toBe(true);
    expect(await queue.enqueueFlow(deep(10))).toMatchObject({ isDuplicate: false });
  });

  test('the payload is taken as it is at the call', async () => {
    const { queue } = newQueue();
    const payload = { n: 1 };
    const enqueued = queue.enqueueFlow({ name: 'sum', payload, children: [leaf(payload)] });
    payload.n = 2;
    const { id, children } = await enqueued;
    expect(await queue.get(id)).toMatchObject({ payload: { n: 1 } });
    expect(await queue.get(children[0]!.id)).toMatchObject({ payload: { n: 1 } });
  });
});

describe('children', () => {
  test('a task without children has none', async () => {
    const { queue, work } = newQueue();
    await work({ t: async (_, context) => (await context.children()).length });
    const { id } = await queue.enqueue('t', 1);
    expect(await queue.result(id)).toBe(0);
  });

  test('are read in pieces when their results are large', async () => {
    const { queue, work } = newQueue();
    const children = Array.from({ length: 30 }, (_, index) => leaf(index));
    await work({
      leaf: (payload) => String(payload).padEnd(200_000, '.'),
      see: async (_, context) =>
        (await context.children()).map(({ result }) => Number.parseInt(result as string, 10)),
    });
    const { id } = await queue.enqueueFlow({ name: 'see', payload: 0, children });
    expect(await queue.result(id)).toEqual(children.map(({ payload }) => payload));
  });
});

describe('cancel', () => {
  const flow = (): FlowTask => ({
    name: 'sum',
    payload: 'root',
    children: [
      leaf('running'),
      leaf('later', { options: { delayMs: 3_600_000 } }),
      { queue: 'other', name: 'sum', payload: 'mid', children: [leaf('below', { queue: 'other' })] },
    ],
  });
  const all = (ids: FlowIds): FlowIds[] => [ids, ...ids.children.flatMap(all)];

  test('of a flow cancels all its unended tasks, in all its queues, with this reason alone', async () => {
    const { queue, other, prefix, work } = newQueues();
    const door = gate();
    const signals: AbortSignal[] = [];
    const run = async (payload: unknown, { signal }: TaskContext): Promise<void> => {
      if (payload !== 'running') return;
      signals.push(signal);
      await door.passed;
    };
    await work({ leaf: run, sum: run });
    await other.pause();
    const ids = await queue.enqueueFlow(flow());
    await until(() => signals.length === 1);
    expect(await queue.cancel(ids, { reason: 'not wanted' })).toBe(true);
    await until(() => signals[0]!.aborted);
    for (const { queue: name, id } of all(ids)) {
      const task = await (name === 'q' ? queue : other).get(id);
      expect([task?.state, task?.error?.message]).toEqual(['cancelled', 'not wanted']);
    }
    expect(all(ids)).toHaveLength(5);
    expect(await queue.cancel(ids)).toBe(false);
    door.open();
    // Reports of children change nothing any more.
    await other.resume();
    await launch(redis, 'other', { leaf: run, sum: run }, { prefix });
    await queue.enqueue('leaf', 'after');
    await until(async () => (await redis.hlen(new QueueKeys('other', prefix).of.outbox)) === 0);
    expect((await queue.get(ids.id))!.state).toBe('cancelled');
    expect(await other.counts()).toMatchObject({ cancelled: 2, dead: 0, succeeded: 0 });
  });

  test('of a parent alone leaves its children', async () => {
    const { queue } = newQueue();
    const { id, children } = await queue.enqueueFlow({ name: 'sum', payload: 1, children: [leaf(1)] });
    expect(await queue.cancel(id)).toBe(true);
    expect(await queue.get(children[0]!.id)).toMatchObject({ state: 'ready' });
  });

  test.each([{}, { queue: 'q', id: 5, children: [] }, { queue: 'q', id: 'a' }])('refuses %j', async (ids) => {
    const { queue } = newQueue();
    await expect(queue.cancel(ids as unknown as FlowIds)).rejects.toThrow('a flow must be what enqueueFlow');
  });
});

describe('the id of a child', () => {
  test.each([1, 5])('a taken id in the queue of the root is refused, with payload %i', async (payload) => {
    const { queue } = newQueue();
    await queue.enqueue('leaf', payload, { id: 'same' });
    const wrong = parent([leaf(2), parent([leafOf(1, 'same')])]);
    const right = parent([leafOf(1, 'free')]);
    const [refused, stored] = await Promise.allSettled([queue.enqueueFlow(wrong), queue.enqueueFlow(right)]);
    expect(refused).toMatchObject({ reason: conflict('same') });
    expect(String((refused as PromiseRejectedResult).reason)).toContain('a child of a flow needs a new one');
    // Only this flow of the call is stored.
    expect(stored).toMatchObject({ value: { isDuplicate: false } });
    expect(await queue.counts()).toMatchObject({ ready: 2, waiting: 1 });
  });

  test('the id of a deleted task is refused during dedupMs', async () => {
    const { queue, work } = newQueue();
    await work({ leaf: () => 1 });
    await queue.enqueue('leaf', 1, { id: 'once', dedupMs: 3_600_000 });
    await queue.result('once');
    await queue.clean('succeeded');
    await expect(queue.enqueueFlow(parent([leafOf(1, 'once')]))).rejects.toMatchObject(conflict('once'));
    expect(await queue.counts()).toMatchObject({ waiting: 0 });
  });

  test.each(['stored', 'gone'])(
    'of another queue, of a task that is %s, counts as a dead child',
    async (how) => {
      const { queue, other, prefix } = newQueues();
      await other.enqueue('leaf', 1, { id: 'once', dedupMs: 3_600_000 });
      // Removed by hand, the id might be used again: so the task has to end.
      if (how === 'gone') {
        const worker = await launch(redis, 'other', { leaf: () => 1 }, { prefix });
        await other.result('once');
        await worker.stop();
        await other.clean('succeeded');
      }
      expect((await other.get('once')) === null).toBe(how === 'gone');
      const { id } = await queue.enqueueFlow(parent([{ ...leafOf(1, 'once'), queue: 'other' }]));
      await expect(queue.result(id)).rejects.toMatchObject({
        code: 'ERR_TASK_DEAD',
        reason: expect.stringContaining('the id belongs to another task'),
      });
    },
  );
});

describe('the id of the root again', () => {
  const children = [leaf(1), parent([leaf(2), leafOf(3, 'mine')])];
  test('with the same children is a duplicate, also when the flow has ended', async () => {
    const { queue, work } = newQueue();
    const first = await queue.enqueueFlow(parent(children, 'root'));
    expect(await queue.enqueueFlow(parent(children, 'root'))).toEqual({ ...first, isDuplicate: true });
    await work({ leaf: () => 1, sum: () => 2 });
    await queue.result('root');
    expect(await queue.enqueueFlow(parent(children, 'root'))).toEqual({ ...first, isDuplicate: true });
    await expect(queue.enqueueFlow(parent([leaf(1)], 'root'))).rejects.toMatchObject(conflict('root'));
  });

  const others: [string, FlowTask[]][] = [
    ['another payload', [leaf(1), parent([leaf(2), leafOf(4, 'mine')])]],
    ['another name', [{ ...leaf(1), name: 'twig' }, children[1]!]],
    ['another queue', [{ ...leaf(1), queue: 'other' }, children[1]!]],
    ['another id', [leaf(1), parent([leaf(2), leafOf(3, 'yours')])]],
    ['another order', [parent([leaf(2), leafOf(3, 'mine')]), leaf(1)]],
    ['one more', [...children, leaf(4)]],
    ['one level less', [leaf(1), { name: 'sum', payload: 0 }, leaf(2), leafOf(3, 'mine')]],
    ['none', []],
  ];
  test.each(others)('with %s is refused', async (_, tree) => {
    const { queue } = newQueue();
    await queue.enqueueFlow(parent(children, 'root'));
    const before = await queue.counts();
    const again = queue.enqueueFlow(parent(tree, 'root'));
    await expect(again).rejects.toMatchObject(conflict('root'));
    await expect(again).rejects.toThrow('with other children');
    expect(await queue.counts()).toEqual(before);
  });

  test('of a task without children is refused with some', async () => {
    const { queue } = newQueue();
    await queue.enqueue('sum', 0, { id: 'root' });
    await expect(queue.enqueueFlow(parent(children, 'root'))).rejects.toMatchObject(conflict('root'));
    expect(await queue.enqueueFlow(parent([], 'root'))).toMatchObject({ isDuplicate: true });
  });
});
