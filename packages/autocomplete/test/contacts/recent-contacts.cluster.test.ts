import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 0 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

test('serves users of all masters, changed in one tick', async () => {
  const recent = new RecentContacts(cluster);
  const users = Array.from({ length: 50 }, (_, index) => `user ${index}`);
  await Promise.all(users.flatMap((user) => ['Jack', 'José'].map((contact) => recent.touch(user, contact))));
  await Promise.all(users.map((user) => recent.remove(user, 'Jack')));
  const found = await Promise.all(users.map((user) => recent.complete(user, 'JO')));
  expect(found).toEqual(users.map(() => ['José']));
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('goes on while a user moves to another master', async () => {
  const recent = new RecentContacts(cluster);
  await recent.touch('anna', 'jack');
  const key = 'mortise:autocomplete:{anna}:recent:1';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', key), other);
  await recent.touch('anna', 'jill');
  expect(await recent.list('anna')).toEqual(['jill', 'jack']);
});
