import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CountDownLatch, RateLimiter } from '@mortise/locks';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';

let servers: RedisCluster;
let clients: [Cluster, Cluster];

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 0 });
  clients = [new Cluster(servers.startupNodes), new Cluster(servers.startupNodes)];
});

afterAll(async () => {
  for (const client of clients ?? []) client.disconnect();
  await servers?.stop();
});

const names = Array.from({ length: 60 }, (_, index) => `name ${index}`);

test('limiters of all masters count for both processes', async () => {
  const options = { limit: 3, periodMs: 3_600_000 };
  const takes = names.flatMap((name) =>
    clients.flatMap((client) => [1, 2].map(() => new RateLimiter(client, name, options).take())),
  );
  const results = await Promise.all(takes);
  expect(results.filter(({ isAllowed }) => isAllowed)).toHaveLength(3 * names.length);
  const sizes = await Promise.all(clients[0].nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('latches of all masters open for both processes', async () => {
  const opened = names.flatMap((name) =>
    clients.map((client) => new CountDownLatch(client, name, { count: 2 }).wait()),
  );
  const counts = names.flatMap((name) =>
    clients.map((client, id) => new CountDownLatch(client, name, { count: 2 }).countDown({ id: String(id) })),
  );
  const remaining = await Promise.all(counts);
  expect(remaining.toSorted((a, b) => a - b)).toEqual([...names.map(() => 0), ...names.map(() => 1)]);
  expect(await Promise.all(opened)).toHaveLength(2 * names.length);
});

test('both go on while their slot moves to another master', async () => {
  const gates = clients.map((client) => new CountDownLatch(client, 'moving', { count: 2 }));
  const calls = new RateLimiter(clients[0], 'moving', { limit: 3, periodMs: 3_600_000 });
  const waits = gates.map((gate) => gate.wait());
  expect(await gates[0]!.countDown({ id: 'a' })).toBe(1);
  expect(await calls.take(2)).toMatchObject({ isAllowed: true, remaining: 1 });
  const key = 'mortise:locks:{moving}:latch';
  const owner = await servers.ownerOf(key);
  const slot = await clients[0].cluster('KEYSLOT', key);
  await servers.moveSlot(
    slot,
    servers.nodes.find((node) => node !== owner)!,
  );
  expect(await calls.take(2)).toMatchObject({ isAllowed: false, remaining: 1 });
  expect(await gates[1]!.countDown({ id: 'b' })).toBe(0);
  await Promise.all(waits);
  expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 0 });
});
