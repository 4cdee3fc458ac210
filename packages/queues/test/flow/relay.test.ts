import { describe, expect, test } from '@jest/globals';
import type { FlowTask, Queue } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { FlowQueues } from '../../src/flow/flow-queues.js';
import { FlowStore } from '../../src/flow/flow-store.js';
import { Relay } from '../../src/flow/relay.js';
import type { QueueKeys } from '../../src/keys.js';
import { flowRelay, flowReport } from '../../src/scripts.gen.js';
import { Shard } from '../../src/shard/shard.js';
import { endGrace, endRetries } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

function relayOf(prefix: string, client: Redis = redis): Relay {
  return new Relay(new Shard(client, 'q', prefix), new FlowStore(client, new FlowQueues(client, prefix)));
}

const leaf = (payload: unknown, queue?: string): FlowTask =>
  queue === undefined ? { name: 'leaf', payload } : { queue, name: 'leaf', payload };
const leaves = (count: number, queue?: string): FlowTask[] =>
  Array.from({ length: count }, (_, index) => leaf(index, queue));

/** A queue that takes nothing more. */
async function fill(name: string, prefix: string): Promise<Queue<Tasks>> {
  const { queue } = newQueue({ prefix }, name);
  await queue.configure({ maxTasks: 1 });
  await queue.enqueue('leaf', 0, { delayMs: 3_600_000 });
  return queue;
}

/** The entries of an outbox, by their kind. */
async function outboxOf(keys: QueueKeys): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const field of await redis.hkeysBuffer(keys.of.outbox)) {
    const kind = field.toString('latin1', 0, 1);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** From the first walk through the children of each flow to when it is due again, ms. */
async function putOff(keys: QueueKeys): Promise<number[]> {
  const fields = (await redis.hkeysBuffer(keys.of.outbox)).filter(([kind]) => kind === 0x65);
  const values = await Promise.all(fields.map((field) => redis.hgetBuffer(keys.of.outbox, field)));
  return values.map((value) => value!.readDoubleBE(0) - value!.readDoubleBE(13));
}

describe('a message that cannot be delivered', () => {
  test('holds up neither the ends of other children nor the children of other queues', async () => {
    const { queue, prefix, keys } = newQueue();
    const full = await fill('full', prefix);
    const other = await fill('other', prefix);
    // More than a step hands out.
    for (let index = 0; index < 2; index += 1) {
      await queue.enqueueFlow({ name: 'sum', payload: 'bad', children: leaves(300, 'full') });
    }
    const mixed = [...leaves(250, 'full'), leaf(1, 'other')];
    await queue.enqueueFlow({ name: 'sum', payload: 'mixed', children: mixed });
    const good = await Promise.all(
      Array.from({ length: 60 }, () =>
        queue.enqueueFlow({ name: 'sum', payload: 'good', onChildFailure: 'ignore', children: leaves(5) }),
      ),
    );
    await Promise.all(good.flatMap(({ children }) => children.map(({ id }) => queue.cancel(id))));
    await other.configure({ maxTasks: 10 });
    await endGrace(redis, keys);
    await expect(relayOf(prefix).run()).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL', queue: 'full' });
    // All that can be done is done in one run, if it doesn't last the three seconds after which a run with a failure ends.
    await until(async () => {
      await relayOf(prefix)
        .run()
        .catch(() => undefined);
      return (await other.counts()).ready === 1 && (await queue.counts()).waiting === 3;
    });
    const states = await Promise.all(good.map(async ({ id }) => (await queue.get(id))?.state));
    expect(new Set(states)).toEqual(new Set(['ready']));
    expect(await other.counts()).toMatchObject({ scheduled: 1, ready: 1 });
    expect(await outboxOf(keys)).toEqual({ e: 3, p: 1 });
    for (const offMs of await putOff(keys)) expect(offMs).toBeGreaterThanOrEqual(1_000);
    await full.configure({ maxTasks: 10_000 });
    await endGrace(redis, keys);
    await relayOf(prefix).run();
    expect(await outboxOf(keys)).toEqual({});
    expect(await full.counts()).toMatchObject({ ready: 850 });
  });

  test('is not retried in a loop, and delays no reports to other parents', async () => {
    const { queue, prefix, keys } = newQueue();
    const { queue: far, keys: farKeys } = newQueue({ prefix }, 'far');
    const lost = await far.enqueueFlow({ name: 'sum', payload: 0, children: leaves(900, 'q') });
    const good = await queue.enqueueFlow({ name: 'sum', payload: 0, children: leaves(90) });
    await Promise.all([...lost.children, ...good.children].map(({ id }) => queue.cancel(id)));
    const shaky = connect();
    const call = shaky.call.bind(shaky) as (command: string, args: string[]) => Promise<unknown>;
    let failures = 0;
    const failing = (command: string, args: string[]): Promise<unknown> => {
      const isReport = args[0] === flowReport.sha1 || args[0] === flowReport.definition.source;
      if (!isReport || !args.includes(farKeys.of.flows)) return call(command, args);
      failures += 1;
      return Promise.reject(new Error('far away'));
    };
    shaky.call = failing as typeof shaky.call;
    await expect(relayOf(prefix, shaky).run()).rejects.toThrow('far away');
    expect((await queue.get(good.id))?.state).toBe('dead');
    expect(await outboxOf(keys)).toEqual({ n: 900, p: 1 });
    // The shard rests for a second: what is for it is not even sent.
    expect(failures).toBeLessThan(50);
    await relayOf(prefix).run();
    expect((await far.get(lost.id))?.state).toBe('dead');
    expect(await outboxOf(keys)).toEqual({});
  });

  test('because the queue is full for a minute counts as dead', async () => {
    const { queue, prefix, keys, work } = newQueue();
    await fill('full', prefix);
    const flow = (onChildFailure: 'fail' | 'ignore'): Promise<{ id: string }> =>
      queue.enqueueFlow({ name: 'sum', payload: 0, onChildFailure, children: leaves(300, 'full') });
    const [strict, lenient] = [await flow('fail'), await flow('ignore')];
    await endGrace(redis, keys);
    await expect(relayOf(prefix).run()).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect(await queue.counts()).toMatchObject({ waiting: 2 });
    await endRetries(redis, keys);
    await relayOf(prefix).run();
    const reason = 'queue "full" is full: it may hold 1 tasks';
    expect(await queue.get(strict.id)).toMatchObject({
      state: 'dead',
      error: { message: expect.stringContaining(reason) },
    });
    let errors: unknown[] = [];
    await work({
      sum: async (_, context) =>
        void (errors = (await context.children()).map(({ error }) => error?.message)),
    });
    await queue.result(lenient.id);
    expect(errors).toEqual(Array.from({ length: 300 }, () => reason));
    await until(async () => Object.keys(await outboxOf(keys)).length === 0);
  });
});

test('a round goes on when something has come in that it may have passed', async () => {
  const { keys } = newQueue();
  const { tasks, outbox, flows } = keys.of;
  const step = (cursor: string, handed = 0, pauseMs = 0): Promise<unknown> =>
    flowRelay.run(
      redis,
      { tasks, outbox, flows },
      { sender: 'one', leaseMs: 60_000, cursor, handed, pauseMs, sent: [] },
    );
  await redis.hset(outbox, 'x', 'of a kind that is not sent');
  expect(await step('0')).toEqual([2]);
  // In the middle of a round, that ends here; meanwhile nothing has come, or something has.
  await redis.hset(outbox, 'p', Buffer.alloc(8));
  expect(await step('1')).toEqual([2]);
  await redis.hdel(outbox, 'p');
  expect(await step('1')).toEqual([1, '0']);
  await redis.hdel(outbox, 'p');
  expect(await step('0', 0, 60_000)).toEqual([2]);
  expect(await redis.hkeys(outbox)).toEqual(['x']);
});

describe('a flow without room', () => {
  test('in the queue of its root is refused, and nothing stored', async () => {
    const { queue, prefix } = newQueue();
    await queue.configure({ maxTasks: 4 });
    const full = { code: 'ERR_QUEUE_FULL', queue: 'q', maxTasks: 4 };
    const flow = (children: FlowTask[]): FlowTask => ({ name: 'sum', payload: 0, children });
    await expect(queue.enqueueFlow(flow(leaves(4)))).rejects.toMatchObject(full);
    await expect(
      queue.enqueueFlow(flow([flow([flow([...leaves(1), leaf(1, 'other')]), leaf(1)])])),
    ).rejects.toMatchObject(full);
    expect(Object.values(await queue.counts()).every((count) => count === 0)).toBe(true);
    // The flows of one call share the room.
    const two = await Promise.allSettled([1, 2].map(() => queue.enqueueFlow(flow(leaves(2)))));
    expect(two).toMatchObject([{ status: 'fulfilled' }, { reason: full }]);
    await queue.enqueueFlow({ ...flow(leaves(50, 'other')) });
    expect(await queue.counts()).toMatchObject({ waiting: 2, ready: 2 });
    const { queue: other } = newQueue({ prefix }, 'other');
    expect(await other.counts()).toMatchObject({ ready: 50 });
  });

  test('counts the tasks in the shard of its root', async () => {
    const { queue } = newQueue({ shards: 2 });
    await queue.configure({ maxTasks: 8 });
    // A group decides where its tasks lie.
    const inGroup = (group: string, count: number): FlowTask[] =>
      leaves(count).map((task) => ({ ...task, options: { group } }));
    const flow = (children: FlowTask[]): FlowTask => ({
      name: 'sum',
      payload: 0,
      options: { group: 'a' },
      children,
    });
    await expect(queue.enqueueFlow(flow(inGroup('a', 4)))).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    // Odd and even slots.
    expect(await queue.enqueueFlow(flow([...inGroup('a', 3), ...inGroup('b', 4)]))).toMatchObject({
      isDuplicate: false,
    });
    expect(await queue.counts()).toMatchObject({ waiting: 1, ready: 7 });
  });
});

describe('an idle worker is woken to deliver notices', () => {
  async function makeIdle(keys: QueueKeys): Promise<void> {
    await redis.zadd(keys.of.idle, Date.now() + 60_000, keys.idleMember('idle'));
  }

  test.each(['cancel', 'remove', 'drain'] as const)('of a child that waits, by %s', async (how) => {
    const { queue, keys } = newQueue();
    const late = { ...leaf(1), options: { delayMs: 3_600_000 } };
    const { children } = await queue.enqueueFlow({ name: 'sum', payload: 0, children: [late] });
    await makeIdle(keys);
    await (how === 'drain' ? queue.drain({ scheduled: true }) : queue[how](children[0]!.id));
    expect(await redis.exists(keys.of.idle)).toBe(0);
  });

  test('of a task without children, it is not', async () => {
    const { queue, keys } = newQueue();
    await queue.enqueueFlow({ name: 'sum', payload: 0, children: leaves(1) });
    const { id } = await queue.enqueue('leaf', 1, { delayMs: 3_600_000 });
    await makeIdle(keys);
    await queue.cancel(id);
    expect(await redis.exists(keys.of.idle)).toBe(1);
  });

  test('of a parent that is dead because of its child', async () => {
    const { queue, prefix, keys } = newQueue();
    const middle: FlowTask = { name: 'sum', payload: 1, children: leaves(1) };
    const root = await queue.enqueueFlow({ name: 'sum', payload: 0, children: [middle] });
    await queue.cancel(root.children[0]!.children[0]!.id);
    await makeIdle(keys);
    await relayOf(prefix).run();
    expect((await queue.get(root.id))?.state).toBe('dead');
    expect(await redis.exists(keys.of.idle)).toBe(0);
  });
});
