import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { FlowTask } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

function newQueues(): { queue: Queue<Tasks>; other: Queue<Tasks>; prefix: string } {
  const prefix = freshPrefix();
  const [queue, other] = ['q', 'other'].map((name) => new Queue<Tasks>(redis, name, { prefix }));
  return { queue: queue!, other: other!, prefix };
}

const leaf = (payload: unknown, id?: string): FlowTask => ({
  name: 'leaf',
  payload,
  ...(id !== undefined && { options: { id } }),
});
const parent = (children: FlowTask[], id?: string): FlowTask => ({
  name: 'sum',
  payload: 0,
  ...(id !== undefined && { options: { id } }),
  children,
});
const conflict = (taskId: string) => ({ code: 'ERR_TASK_CONFLICT', queue: 'q', taskId });

describe('the id of a child', () => {
  test.each([1, 5])('a taken id in the queue of the root is refused, with payload %i', async (payload) => {
    const { queue } = newQueues();
    await queue.enqueue('leaf', payload, { id: 'same' });
    const wrong = parent([leaf(2), parent([leaf(1, 'same')])]);
    const right = parent([leaf(1, 'free')]);
    const [refused, stored] = await Promise.allSettled([queue.enqueueFlow(wrong), queue.enqueueFlow(right)]);
    expect(refused).toMatchObject({ reason: conflict('same') });
    expect(String((refused as PromiseRejectedResult).reason)).toContain('a child of a flow needs a new one');
    // Of those that were sent in one call, only that one.
    expect(stored).toMatchObject({ value: { isDuplicate: false } });
    expect(await queue.counts()).toMatchObject({ ready: 2, waiting: 1 });
  });

  test('the id of a deleted task is refused during dedupMs', async () => {
    const { queue, prefix } = newQueues();
    await launch(redis, 'q', { leaf: () => 1 }, { prefix });
    await queue.enqueue('leaf', 1, { id: 'once', dedupMs: 3_600_000 });
    await queue.result('once');
    await queue.clean('succeeded');
    await expect(queue.enqueueFlow(parent([leaf(1, 'once')]))).rejects.toMatchObject(conflict('once'));
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
      const { id } = await queue.enqueueFlow(parent([{ ...leaf(1, 'once'), queue: 'other' }]));
      await expect(queue.result(id)).rejects.toMatchObject({
        code: 'ERR_TASK_DEAD',
        reason: expect.stringContaining('the id belongs to another task'),
      });
    },
  );
});

describe('the id of the root again', () => {
  const children = [leaf(1), parent([leaf(2), leaf(3, 'mine')])];
  test('with the same children is a duplicate, also when the flow has ended', async () => {
    const { queue, prefix } = newQueues();
    const first = await queue.enqueueFlow(parent(children, 'root'));
    expect(await queue.enqueueFlow(parent(children, 'root'))).toEqual({ ...first, isDuplicate: true });
    await launch(redis, 'q', { leaf: () => 1, sum: () => 2 }, { prefix });
    await queue.result('root');
    expect(await queue.enqueueFlow(parent(children, 'root'))).toEqual({ ...first, isDuplicate: true });
    await expect(queue.enqueueFlow(parent([leaf(1)], 'root'))).rejects.toMatchObject(conflict('root'));
  });

  const others: [string, FlowTask[]][] = [
    ['another payload', [leaf(1), parent([leaf(2), leaf(4, 'mine')])]],
    ['another name', [{ ...leaf(1), name: 'twig' }, children[1]!]],
    ['another queue', [{ ...leaf(1), queue: 'other' }, children[1]!]],
    ['another id', [leaf(1), parent([leaf(2), leaf(3, 'yours')])]],
    ['another order', [parent([leaf(2), leaf(3, 'mine')]), leaf(1)]],
    ['one more', [...children, leaf(4)]],
    ['one level less', [leaf(1), { name: 'sum', payload: 0 }, leaf(2), leaf(3, 'mine')]],
    ['none', []],
  ];
  test.each(others)('with %s is refused', async (_, tree) => {
    const { queue } = newQueues();
    await queue.enqueueFlow(parent(children, 'root'));
    const before = await queue.counts();
    const again = queue.enqueueFlow(parent(tree, 'root'));
    await expect(again).rejects.toMatchObject(conflict('root'));
    await expect(again).rejects.toThrow('with other children');
    expect(await queue.counts()).toEqual(before);
  });

  test('of a task without children is refused with some', async () => {
    const { queue } = newQueues();
    await queue.enqueue('sum', 0, { id: 'root' });
    await expect(queue.enqueueFlow(parent(children, 'root'))).rejects.toMatchObject(conflict('root'));
    expect(await queue.enqueueFlow(parent([], 'root'))).toMatchObject({ isDuplicate: true });
  });
});
