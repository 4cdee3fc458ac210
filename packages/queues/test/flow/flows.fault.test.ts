import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import type { Redis } from 'ioredis';
import { FlowQueues } from '../../src/flow/flow-queues.js';
import { FlowStore } from '../../src/flow/flow-store.js';
import { Relay } from '../../src/flow/relay.js';
import { QueueKeys } from '../../src/keys.js';
import { flowReport, flowRelay, queueEnqueue } from '../../src/scripts.gen.js';
import { Shard } from '../../src/shard/shard.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { connectTo, keys, never, newProxied, newScene, prefix, queueOn } from '../fixture/faults.js';
import type { Tasks } from '../fixture/launch.js';
import { launch } from '../fixture/launch.js';
import { kill, startProcess } from '../fixture/processes.js';
import { endGrace } from '../fixture/set-due.js';
import { counted, until } from '../fixture/until.js';

const leaf = (payload: number, queue = 'q') => ({ queue, name: 'leaf', payload });
const sum = async (_: unknown, context: TaskContext): Promise<number> =>
  (await context.children()).reduce((total, { result }) => total + (result as number), 0);

describe('a flow survives the death of', () => {
  test('its producer, between the root and the children', async () => {
    const { single, redis } = await newScene();
    const dying = connectTo(single);
    intercept(dying, (script, send) => (script === queueEnqueue ? never : send()));
    const queue = queueOn(redis);
    // The outer tasks are stored, the leaves never.
    void queueOn(dying).enqueueFlow({
      name: 'sum',
      payload: 0,
      options: { id: 'root' },
      children: [
        leaf(1),
        leaf(2, 'other'),
        { name: 'sum', payload: 0, children: [leaf(3), leaf(4, 'other')] },
      ],
    });
    await counted(queue, { waiting: 2 });
    await endGrace(redis, keys);
    const runs: string[] = [];
    const handlers = {
      leaf: (payload: number, { id }: TaskContext) => {
        runs.push(id);
        return payload;
      },
      sum,
    };
    await launch(redis, ['q', 'other'], handlers, { prefix });
    expect(await queue.result('root')).toBe(10);
    expect(runs).toHaveLength(4);
    expect(new Set(runs).size).toBe(4);
    await until(async () => (await redis.exists(keys.of.flows, keys.of.outbox)) === 0);
  });

  test('a relay, between the report and its removal', async () => {
    const { single, redis, queue } = await newScene();
    const shard = new Shard(redis, 'q', prefix);
    await queue.enqueueFlow({
      name: 'sum',
      payload: 0,
      options: { id: 'root' },
      children: [leaf(1), leaf(2), leaf(3), { ...leaf(4), options: { id: 'late', delayMs: 600_000 } }],
    });
    // Nobody but this test reads the outbox.
    await redis.hset(
      keys.of.outbox,
      'l',
      Buffer.concat([doubleOf(Date.now() + 600_000), Buffer.from('somebody')]),
    );
    const worker = await launch(redis, 'q', { leaf: (payload) => payload, sum }, { prefix });
    await counted(queue, { succeeded: 3 });
    await worker.stop();
    await redis.hdel(keys.of.outbox, 'l');
    const deadly = connectTo(single);
    let reports = 0;
    intercept(deadly, async (script, send) => {
      const reply = await send();
      if (script !== flowReport) return reply;
      reports += 1;
      return never;
    });
    const dying = new Shard(deadly, 'q', prefix);
    // Its call ends when the client is closed after the test.
    new Relay(dying, new FlowStore(deadly, new FlowQueues(deadly, prefix))).run().catch(() => undefined);
    await until(() => reports === 1);
    expect((await redis.hkeys(keys.of.outbox)).filter((field) => field.startsWith('n'))).toHaveLength(3);
    // The one that takes over does it all again.
    await redis.hdel(keys.of.outbox, 'l');
    await new Relay(shard, new FlowStore(redis, new FlowQueues(redis, prefix))).run();
    expect(await redis.exists(keys.of.outbox)).toBe(0);
    // Three have ended, reported six times: the fourth is still waited for.
    expect(await queue.counts()).toMatchObject({ waiting: 1, ready: 0, scheduled: 1 });
    await queue.promote('late');
    await launch(redis, 'q', { leaf: (payload) => payload, sum }, { prefix });
    expect(await queue.result('root')).toBe(10);
  });

  test('one relay at a time sends, until its lease ends', async () => {
    const { redis } = await newScene();
    const { tasks, outbox, flows } = keys.of;
    const step = (sender: string, pauseMs = 0): Promise<unknown> =>
      flowRelay.run(
        redis,
        { tasks, outbox, flows },
        { sender, leaseMs: 60_000, cursor: '0', handed: 0, pauseMs, sent: [] },
      );
    await redis.hset(outbox, 'n12345678id', 'note');
    const handed = [1, '0', 'n', 'n12345678id', 'note'];
    expect(await step('one')).toEqual(handed);
    expect(await step('two')).toEqual([0]);
    expect(await step('one')).toEqual(handed);
    // As if that had ended.
    await redis.hset(outbox, 'l', Buffer.concat([doubleOf(1), Buffer.from('one')]));
    expect(await step('two')).toEqual(handed);
    expect(await step('one')).toEqual([0]);
    expect(await step('two', 60_000)).toEqual([2]);
    expect(await redis.hkeys(outbox)).toEqual(expect.arrayContaining(['n12345678id', 'p']));
    expect(await step('one')).toEqual(handed);
  });

  test('the connection, wherever it is cut', async () => {
    const { queue, proxy } = await newProxied();
    const shaky = connectTo(proxy);
    const handlers = { leaf: (payload: number) => payload, sum };
    await launch(shaky, ['q', 'other'], handlers, { prefix, leaseMs: 1_000, onError: () => undefined });
    const ids = Array.from({ length: 30 }, (_, index) => `root ${index}`);
    const options = { attempts: 200 };
    const cutter = { isOver: false };
    // Some pauses are long enough for a slow machine to connect and go on.
    const cutting = (async () => {
      while (!cutter.isOver) {
        proxy.cut();
        await pause(100 * Math.random() ** 2);
      }
    })();
    try {
      for (const id of ids) {
        await queue.enqueueFlow({
          name: 'sum',
          payload: 0,
          options: { ...options, id },
          children: [
            { ...leaf(1), options },
            { ...leaf(2, 'other'), options },
            {
              queue: 'other',
              name: 'sum',
              payload: 0,
              options,
              children: [leaf(3), leaf(4)].map((child) => ({ ...child, options })),
            },
          ],
        });
      }
      await until(async () => (await queue.counts()).succeeded > 20);
    } finally {
      cutter.isOver = true;
      await cutting;
    }
    expect(await Promise.all(ids.map((id) => queue.result(id, { waitMs: 60_000 })))).toEqual(
      ids.map(() => 10),
    );
    expect(await queue.counts()).toMatchObject({ waiting: 0, dead: 0 });
  });

  test('workers and producers, killed at random', async () => {
    const { single, redis, queue } = await newScene();
    const other = new Queue<Tasks>(redis, 'other', { prefix });
    const [flows, width] = [25, 8];
    const options = { prefix, leaseMs: 1_000, concurrency: 20, keepSucceeded: 100_000, flows, width };
    const start = () => startProcess(single.url, 'q', options, 'flow-process.mjs');
    const processes = Array.from({ length: 3 }, start);
    const done = async (): Promise<number> => {
      const all = await Promise.all(Array.from({ length: flows }, (_, index) => queue.get(`flow ${index}`)));
      return all.filter((task) => task?.state === 'succeeded').length;
    };
    for (let round = 0; (await done()) < flows; round += 1) {
      const before = await done();
      await until(async () => (await done()) >= Math.min(flows, before + 5));
      if (round >= 4) continue;
      await kill(processes[round % 3]!.child);
      processes[round % 3] = start();
    }
    for (let index = 0; index < flows; index += 1) {
      expect(await queue.result(`flow ${index}`)).toBe(2 * width);
    }
    const runs = await redis.hgetall(`${prefix}:runs`);
    expect(Object.keys(runs)).toHaveLength(flows * 2 * width);
    expect(await queue.counts()).toMatchObject({
      waiting: 0,
      ready: 0,
      dead: 0,
      succeeded: flows * (width + 1),
    });
    expect(await other.counts()).toMatchObject({
      waiting: 0,
      ready: 0,
      dead: 0,
      succeeded: flows * (width + 1),
    });
    const rest = [keys, new QueueKeys('other', prefix)].flatMap(({ of }) => [of.flows, of.outbox]);
    await until(async () => (await redis.exists(...rest)) === 0);
  });
});

describe('after a failover, a parent waits for no', () => {
  test('child of its shard that the failover has lost', async () => {
    const { single, redis, queue } = await newScene();
    const { tasks } = keys.of;
    const losing = connectTo(single);
    intercept(losing, async (script, send) => {
      const reply = await send();
      if (script !== queueEnqueue) return reply;
      const lost = (await redis.hkeysBuffer(tasks)).filter((id) => !id.equals(encodeTaskId('root')));
      if (lost.length > 0) await redis.hdel(tasks, ...lost);
      await redis.del(...keys.priorityKeys(1));
      return reply;
    });
    await queueOn(losing).enqueueFlow({
      name: 'sum',
      payload: 0,
      options: { id: 'root' },
      children: [leaf(1), leaf(2), leaf(4, 'other')],
    });
    await endGrace(redis, keys);
    await launch(redis, ['q', 'other'], { leaf: (payload) => payload, sum }, { prefix });
    expect(await queue.result('root')).toBe(7);
  });

  test('report to its shard that the failover has lost', async () => {
    const { single, redis, queue } = await newScene();
    const { outbox } = keys.of;
    await queue.enqueueFlow({
      name: 'sum',
      payload: 0,
      options: { id: 'root' },
      children: [leaf(1), leaf(2)],
    });
    // Nobody but this test reads the outbox.
    const holder = Buffer.concat([doubleOf(Date.now() + 600_000), Buffer.from('somebody')]);
    await redis.hset(outbox, 'l', holder);
    const worker = await launch(redis, 'q', { leaf: (payload) => payload, sum }, { prefix });
    await counted(queue, { succeeded: 2 });
    await worker.stop();
    await redis.hdel(outbox, 'l');
    const losing = connectTo(single);
    let reports = 0;
    intercept(losing, async (script, send) => {
      if (script !== flowReport) return send();
      reports += 1;
      return reports === 1 ? 2 : send();
    });
    await new Relay(
      new Shard(losing, 'q', prefix),
      new FlowStore(losing, new FlowQueues(losing, prefix)),
    ).run();
    await launch(redis, 'q', { leaf: (payload) => payload, sum }, { prefix });
    expect(await queue.result('root')).toBe(3);
  });
});

/** Stands between the client and what it sends. */
function intercept(
  redis: Redis,
  through: (script: unknown, send: () => Promise<unknown>) => Promise<unknown>,
): void {
  const call = redis.call.bind(redis) as (command: string, args: string[]) => Promise<unknown>;
  const scripts = [queueEnqueue, flowReport];
  const intercepted = (command: string, args: string[]): Promise<unknown> => {
    const script = scripts.find(({ sha1, definition }) => args[0] === sha1 || args[0] === definition.source);
    return through(script, () => call(command, args));
  };
  redis.call = intercepted as typeof redis.call;
}

function doubleOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}
