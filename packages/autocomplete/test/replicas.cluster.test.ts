import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster, RedisServer } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 1 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

/** How often nodes executed the commands. */
async function calls(nodes: readonly RedisServer[], commands: RegExp): Promise<number> {
  const stats = await Promise.all(nodes.map((node) => node.command('INFO', 'commandstats')));
  const counts = stats.flatMap((text) => [...String(text).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]);
  return counts.reduce((sum, [, name, count]) => (commands.test(name!) ? sum + Number(count) : sum), 0);
}

test.each([
  ['by the last touch', {}],
  ['by frecency', { halfLifeMs: 60_000 }],
])('reads are answered by replicas, and none by a master: %s', async (_, options) => {
  const users = Array.from({ length: 20 }, (__, index) => `user ${index}`);
  const recent = new RecentContacts(cluster, options);
  await Promise.all(users.flatMap((user) => ['jack', 'José'].map((contact) => recent.touch(user, contact))));
  await servers.replicated();
  // A node lists a replica when it knows that the replica has data.
  await until('all nodes to list replicas of all masters', async () => {
    const slots = await Promise.all(servers.nodes.map((node) => node.command('CLUSTER', 'SLOTS')));
    return (slots as unknown[][][]).every((ranges) => ranges.every((range) => range.length === 4));
  });
  const reader = new Cluster(servers.startupNodes, { scaleReads: 'slave' });

  const READS = /^(eval_ro|evalsha_ro|lrange|zrange)$/;
  const [masters, replicas] = [servers.nodes.slice(0, 3), servers.nodes.slice(3)];
  const before = [await calls(masters, READS), await calls(replicas, READS)];
  const read = new RecentContacts(reader, options);
  for (const user of users) {
    expect(await read.complete(user, 'JO')).toEqual(['José']);
    expect((await read.list(user)).toSorted()).toEqual(['José', 'jack']);
  }
  expect(await calls(masters, READS)).toBe(before[0]);
  expect(await calls(replicas, READS)).toBeGreaterThanOrEqual(before[1]! + 40);
  await reader.quit();
});
