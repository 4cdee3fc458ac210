import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { FlowQueues } from '../src/flow/flow-queues.js';
import { FlowStore } from '../src/flow/flow-store.js';
import { Relay } from '../src/flow/relay.js';
import { Shard } from '../src/shard/shard.js';
import { calls } from './commands.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

const leaves = (count: number) => Array.from({ length: count }, (_, payload) => ({ name: 'leaf', payload }));

async function newQueue(): Promise<{ prefix: string; queue: Queue<Tasks> }> {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  // The first use of a script on a server sends its text.
  const { id, children } = await queue.enqueueFlow({ name: 'sum', payload: 0, children: leaves(1) });
  await queue.cancel(children[0]!.id);
  const shard = new Shard(redis, 'q', prefix);
  await new Relay(shard, new FlowStore(redis, new FlowQueues(redis, prefix))).run();
  await queue.result(id, { waitMs: 0 }).catch(() => undefined);
  await queue.configure({ keepEvents: 5 });
  await queue.enqueueMany([0, 1].map((payload) => ({ name: 't', payload })));
  await queue.events({ after: 'oldest' }).next();
  return { prefix, queue };
}

test('a flow: its root, its children, and that these need not be sent any more', async () => {
  const { prefix, queue } = await newQueue();
  const flow = { name: 'sum', payload: 0, children: leaves(50) };
  expect(await calls(redis, prefix, () => queue.enqueueFlow(flow))).toMatchInlineSnapshot(`
"flow.open
queue.enqueue
hdel flows
hdel outbox"
`);
  const many = Array.from({ length: 20 }, () => ({ name: 'sum', payload: 0, children: leaves(3) }));
  expect(await calls(redis, prefix, () => Promise.all(many.map((one) => queue.enqueueFlow(one)))))
    .toMatchInlineSnapshot(`
"flow.open
queue.enqueue
hdel flows ×20
hdel outbox ×20"
`);
});

test('fifty children that have ended: asked for, told in one call, asked again', async () => {
  const { prefix, queue } = await newQueue();
  const { children } = await queue.enqueueFlow({ name: 'sum', payload: 0, children: leaves(50) });
  await Promise.all(children.map(({ id }) => queue.cancel(id)));
  const relay = new Relay(new Shard(redis, 'q', prefix), new FlowStore(redis, new FlowQueues(redis, prefix)));
  expect(await calls(redis, prefix, () => relay.run())).toMatchInlineSnapshot(`
"flow.relay
get settings
flow.report
flow.relay"
`);
  expect(await calls(redis, prefix, () => relay.run())).toMatchInlineSnapshot(`"flow.relay"`);
});

test('results: one look for all that are asked for in one tick', async () => {
  const { prefix, queue } = await newQueue();
  const tasks = Array.from({ length: 20 }, (_, payload) => ({ name: 't', payload }));
  const ids = (await queue.enqueueMany(tasks)).map(({ id }) => id);
  const looks = (): Promise<unknown> => Promise.allSettled(ids.map((id) => queue.result(id, { waitMs: 0 })));
  expect(await calls(redis, prefix, looks)).toMatchInlineSnapshot(`"result.wait"`);
});

test('events: a page, out of which the next ones come', async () => {
  const { prefix, queue } = await newQueue();
  const events = queue.events({ after: 'oldest' });
  expect(await calls(redis, prefix, () => events.next())).toMatchInlineSnapshot(`
"events.open
events.read ×2"
`);
  expect(await calls(redis, prefix, () => events.next())).toMatchInlineSnapshot(`""`);
  await events.return();
});
