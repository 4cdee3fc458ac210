import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, Recording, resending } from '@mortise/test-kit';

const redis = connect();
const task = { name: 't', payload: 1 };

test.each<[string, (queue: Queue, id?: string) => Promise<readonly { isDuplicate: boolean }[]>, number]>([
  ['enqueue', async (queue, id) => [await queue.enqueue('t', 1, id === undefined ? {} : { id })], 1],
  [
    'enqueueMany',
    (queue, id) => queue.enqueueMany([{ ...task, options: id === undefined ? {} : { id } }, task]),
    2,
  ],
  ['enqueueFlow', async (queue) => [await queue.enqueueFlow({ ...task, children: [task] })], 2],
  ['enqueueFlow without children', async (queue) => [await queue.enqueueFlow(task)], 1],
])('%s: a task whose command was sent twice is new under an id of the call', async (_, enqueue, tasks) => {
  const prefix = freshPrefix();
  const telemetry = new Recording();
  const queue = new Queue(resending(redis), 'q', { prefix, telemetry });
  const stored = await enqueue(queue);
  expect(stored.map(({ isDuplicate }) => isDuplicate)).toEqual(stored.map(() => false));
  const { ready, waiting } = await queue.counts();
  // A relay stores the children of a flow.
  expect(ready + waiting).toBe(stored.length);
  expect(telemetry.totals).toEqual({ enqueued: tasks });
});

test("enqueue: a caller's id that was stored before is a duplicate", async () => {
  const queue = new Queue(redis, 'q', { prefix: freshPrefix() });
  expect((await queue.enqueue('t', 1, { id: 'a' })).isDuplicate).toBe(false);
  expect((await queue.enqueue('t', 1, { id: 'a' })).isDuplicate).toBe(true);
});
