import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { Child, EnqueuedFlow, FlowTask, Handlers, QueueEvent } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

interface Mail {
  'mail.sold': { itemId: string };
  'mail.digest': { to: string };
}

const redis = connect();

test('tasks of a flow are of the queue, unless they name another', async () => {
  const queue = new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
  const flow: EnqueuedFlow = await queue.enqueueFlow({
    name: 'mail.digest',
    payload: { to: 'jack' },
    onChildFailure: 'ignore',
    children: [
      { name: 'mail.sold', payload: { itemId: '42' }, options: { priority: 'high' } },
      {
        queue: 'reports',
        name: 'report',
        payload: 1,
        children: [{ name: 'mail.sold', payload: { itemId: '43' } }],
      },
    ],
  });
  // @ts-expect-error -- no such task
  const unknown: FlowTask<Mail> = { name: 'mail.lost', payload: { itemId: '42' } };
  // @ts-expect-error -- the payload of another task
  const wrong: FlowTask<Mail> = { name: 'mail.digest', payload: { itemId: '42' } };
  // @ts-expect-error -- no such policy
  const policy: FlowTask<Mail> = { name: 'mail.digest', payload: { to: '' }, onChildFailure: 'retry' };
  expect([flow.children.length, unknown.name, wrong.name, policy.onChildFailure]).toEqual([
    2,
    'mail.lost',
    'mail.digest',
    'retry',
  ]);
});

test('the types that handlers, results and readers get', async () => {
  const queue = new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
  const handlers: Partial<Handlers<Mail>> = {
    'mail.digest': async (_, context) => {
      const children: Child[] = await context.children();
      const [first] = children;
      // @ts-expect-error -- it isn't known what a child returns
      const length: number = first?.result;
      return length;
    },
  };
  const { id } = await queue.enqueue('mail.sold', { itemId: '42' });
  const result: unknown = await queue.result(id, { waitMs: 0 }).catch(() => 'not yet');
  await queue.configure({ keepEvents: 10 });
  await queue.cancel(id);
  for await (const event of queue.events({ after: 'oldest' })) {
    const seen: QueueEvent = event;
    expect(seen).toMatchObject({ type: 'cancelled', id });
    break;
  }
  // @ts-expect-error -- an id
  await expect(queue.result(42)).rejects.toThrow(TypeError);
  expect([result, Object.keys(handlers)]).toEqual(['not yet', ['mail.digest']]);
});
