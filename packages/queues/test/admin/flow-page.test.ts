import { expect, test } from '@jest/globals';
import type { FlowTask } from '@mortise/queues';
import { childrenOf } from '@mortise/queues/admin';
import { gate } from '@mortise/test-kit';
import { newQueue } from '../fixture/new-queue.js';
import { until } from '../fixture/until.js';

test('has each child with its state, in the order of the flow, also when the parent has succeeded', async () => {
  const { queue, prefix, work } = newQueue();
  const other = newQueue({ prefix }, 'other').queue;
  const homes = new Map([
    ['q', queue],
    ['other', other],
  ]);
  const open = async (name: string) => homes.get(name);
  const opened = gate();
  const { id, children } = await queue.enqueueFlow({
    name: 'see',
    payload: 0,
    onChildFailure: 'ignore',
    children: [
      { name: 'slow', payload: 'x'.repeat(9_000) },
      { name: 'quick', payload: 1 },
      {
        queue: 'other',
        name: 'waits',
        payload: 2,
        children: [{ queue: 'other', name: 'never', payload: 3 }],
      },
    ],
  });
  const addresses = children.map((child) => ({ queue: child.queue, id: child.id }));
  await work({ slow: () => opened.passed, quick: () => 'done', see: () => 1 });
  await until(async () => (await queue.children(id))!.ended.length === 1);
  await until(async () => (await queue.summary(children[0]!.id))!.state === 'active');
  const found = await childrenOf(queue, id, open);
  expect(found).toEqual({
    count: 3,
    items: [
      { ...addresses[0], name: 'slow', state: 'active' },
      { ...addresses[1], name: 'quick', state: 'succeeded', result: 'done', finishedAt: expect.any(Number) },
      { ...addresses[2], name: 'waits', state: 'waiting' },
    ],
  });
  // A queue that the page may not show.
  const { items } = (await childrenOf(queue, id, async (name) => (name === 'q' ? queue : undefined)))!;
  expect(items[2]).toEqual(addresses[2]);

  await other.cancel(children[2]!.children[0]!.id);
  await other.cancel(children[2]!.id, { reason: 'no' });
  opened.open();
  await newQueue({ prefix }, 'other').work({ other: () => 1 });
  expect(await queue.result(id)).toBe(1);
  const after = (await childrenOf(queue, id, open))!;
  expect(after.items).toMatchObject([
    { state: 'succeeded', finishedAt: expect.any(Number) },
    { state: 'succeeded' },
    { state: 'cancelled', error: { message: 'no' } },
  ]);
  expect(await childrenOf(queue, children[1]!.id, open)).toBeNull();
});

test('has only the ended ones of a flow whose addresses were too long to store', async () => {
  const { queue, work } = newQueue();
  const children = Array.from({ length: 17 }, (_, n): FlowTask => {
    return {
      name: n === 0 ? 'quick' : 'never',
      payload: n,
      options: { id: String(n).padEnd(1_024, '.'), delayMs: n * 60_000 },
    };
  });
  const { id } = await queue.enqueueFlow({ name: 'see', payload: 0, children });
  await work({ quick: () => 1, never: () => 1 });
  await until(async () => (await queue.children(id))!.ended.length === 1);
  const { count, items } = (await childrenOf(queue, id, async () => queue))!;
  expect([count, items.map(({ name }) => name)]).toEqual([17, ['quick']]);
});
