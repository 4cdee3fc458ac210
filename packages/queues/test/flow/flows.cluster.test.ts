import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { FlowTask, QueueEvent, TaskContext } from '@mortise/queues';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';
import { QueueKeys } from '../../src/keys.js';
import { launch } from '../fixture/launch.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ nodeTimeoutMs: 15_000 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

test('flows, results and events over queues and shards on all masters', async () => {
  const prefix = 'flow';
  const names = Array.from({ length: 4 }, (_, index) => `queue ${index}`);
  const queues = names.map((name, index) => new Queue<Tasks>(cluster, name, { prefix, shards: 1 + index }));
  for (const queue of queues) await queue.configure({ keepEvents: 1_000 });
  const owners = names.map((name) => servers.ownerOf(new QueueKeys(name, prefix).of.tasks));
  expect(new Set(await Promise.all(owners)).size).toBeGreaterThan(1);
  const handlers = {
    one: () => 1,
    sum: async (_: unknown, context: TaskContext) =>
      (await context.children()).reduce((total, { result }) => total + (result as number), 0),
  };
  const events: QueueEvent[] = [];
  const reading = (async () => {
    for await (const event of queues[3]!.events({ after: 'oldest' })) {
      events.push(event);
      if (events.filter(({ type }) => type === 'succeeded').length === 5 * 15) return;
    }
  })();
  const tree = (depth: number): FlowTask =>
    depth === 3
      ? { queue: names[3]!, name: 'one', payload: null }
      : {
          queue: names[depth]!,
          name: 'sum',
          payload: null,
          children: [tree(depth + 1), tree(depth + 1), { queue: names[3]!, name: 'one', payload: null }],
        };
  const flows = await Promise.all(Array.from({ length: 5 }, () => queues[0]!.enqueueFlow(tree(0))));
  // Of each flow 8 + 4 + 2 + 1 leaves, all in the last queue.
  const results = Promise.all(flows.map(({ id }) => queues[0]!.result(id)));
  await launch(cluster, names, handlers, { prefix, keepSucceeded: 0 });
  expect(await results).toEqual(flows.map(() => 15));
  await reading;
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['enqueued', 'started', 'succeeded']));
  for (const queue of queues) {
    expect(Object.values(await queue.counts()).every((count) => count === 0)).toBe(true);
  }
});
