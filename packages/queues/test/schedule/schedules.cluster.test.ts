import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';
import { QueueKeys } from '../../src/keys.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

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

test('schedules lie in shard 0, their tasks in all shards and so on all masters', async () => {
  const prefix = 'schedules';
  const shards = 8;
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards });
  const run: string[] = [];
  const handlers = { t: (_: unknown, { id }: { id: string }) => void run.push(id) };
  await launch(cluster, 'q', handlers, { prefix });
  await launch(cluster, 'q', handlers, { prefix });
  const keys = Array.from({ length: 30 }, (_, index) => `s${index}`);
  for (const key of keys) await queue.schedule(key, { everyMs: 1_000, missed: 'all', maxRuns: 2 }, 't', key);
  await until(() => run.length >= 60);
  await until(async () => (await queue.schedules()).every(({ nextAt }) => nextAt === undefined));
  expect(new Set(run).size).toBe(60);
  expect(run).toHaveLength(60);
  const masters = new Set<unknown>();
  for (let shard = 0; shard < shards; shard += 1) {
    const { of } = new QueueKeys('q', prefix, shard);
    expect(await cluster.hlen(of.schedules)).toBe(shard === 0 ? 30 : 0);
    if ((await cluster.hlen(of.tasks)) > 0) masters.add(await servers.ownerOf(of.tasks));
  }
  expect(masters.size).toBe(3);
  for (const key of keys) expect(await queue.unschedule(key)).toBe(true);
});
