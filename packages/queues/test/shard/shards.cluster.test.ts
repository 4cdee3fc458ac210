/** A queue with shards on three masters without replicas, one of which is lost. */
import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { keySlot } from '@mortise/redis';
import type { RedisServer } from '@mortise/redis-server';
import { runCluster } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import type { Tasks } from '../fixture/launch.js';
import { launch } from '../fixture/launch.js';
import { counted, until } from '../fixture/until.js';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0, nodeTimeoutMs: 15_000 });

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const masterOf = (prefix: string, shard: number): Promise<RedisServer> =>
  servers.ownerOf(new QueueKeys('q', prefix, shard).of.tasks);
const shardOf = (id: string, shards: number): number => keySlot(encodeTaskId(id).toString('latin1')) % shards;

test('a queue of one shard is spread over three masters by one command', async () => {
  const prefix = 'grown';
  const queue = new Queue<Tasks>(cluster, 'q', { prefix });
  const run: unknown[] = [];
  await launch(cluster, 'q', { t: (payload: unknown) => void run.push(payload) }, { prefix });
  await queue.enqueue('t', 'early');
  await counted(queue, { succeeded: 1 });
  await queue.reshard(6);
  await queue.enqueueMany(range(60).map((n) => ({ name: 't', payload: n, options: { id: `id ${n}` } })));
  await counted(queue, { succeeded: 61 });
  const masters = await Promise.all(range(6).map((shard) => masterOf(prefix, shard)));
  expect(new Set(masters).size).toBe(3);
  expect(run.length).toBe(61);
});

test('the loss of the master of shard 0 leaves the other shards working', async () => {
  const prefix = 'lost';
  const shards = 12;
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards });
  const errors: unknown[] = [];
  const run = new Set<string>();
  await launch(
    cluster,
    'q',
    { t: (payload: string) => void run.add(payload) },
    { prefix, onError: (error) => errors.push(error) },
  );
  const lost = await masterOf(prefix, 0);
  const masters = await Promise.all(range(shards).map((shard) => masterOf(prefix, shard)));
  const ids = range(200)
    .map((n) => `id ${n}`)
    .filter((id) => masters[shardOf(id, shards)] !== lost);
  const [early, late] = [ids.slice(0, 60), ids.slice(60, 120)];
  const tasks = (some: readonly string[]) =>
    some.map((id) => ({ name: 't' as const, payload: id, options: { id } }));
  await queue.enqueueMany(tasks(early));
  await until(() => run.size === early.length);
  // By default a Cluster refuses all commands while a slot has no master.
  const others = [...new Set(masters)].filter((master) => master !== lost);
  for (const master of others) await master.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
  await lost.kill();
  await queue.enqueueMany(tasks(late));
  await until(() => run.size === early.length + late.length);
  const states = await Promise.all(late.map(async (id) => (await queue.get(id))?.state));
  expect(states).toEqual(late.map(() => 'succeeded'));
  // The worker says that it can't reach the shards of that master.
  await until(() => errors.length > 0);
});
