import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import { queued } from '../fixture/queued.js';

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

function shared(name: string): [ReadWriteLock, ReadWriteLock] {
  return [new ReadWriteLock(clients[0], name), new ReadWriteLock(clients[1], name)];
}

test('locks of all masters let readers in together and writers one by one, inside a process and between two', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `lock ${index}`);
  const sides = ['read', 'read', 'write', 'read', 'read', 'write'] as const;
  const seen = await Promise.all(
    names.map(async (name) => {
      const locks = shared(name);
      const phases: string[] = [];
      const tokens: number[] = [];
      const holder = await locks[0].write.acquire();
      const arrived: number[] = [];
      const sections: Promise<unknown>[] = [];
      for (const [index, side] of sides.entries()) {
        const section = locks[index % 2]![side].using(async (_, lease) => {
          arrived.push(index);
          // The two readers of a phase are in at the same time.
          const beside = index % 3 === 0 ? index + 1 : index - 1;
          if (side === 'read') await until('the other reader', () => arrived.includes(beside));
          phases.push(side);
          tokens.push(lease.fencingToken);
          await lease.renew();
        });
        sections.push(section);
        await queued(locks[0].read, index + 1);
      }
      const reader = await holder.downgrade();
      await reader.release();
      await Promise.all(sections);
      expect(new Set(tokens).size).toBe(sides.length);
      return phases;
    }),
  );
  expect(seen).toEqual(names.map(() => sides));
  const sizes = await Promise.all(clients[0].nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('holders and waiters go on while the slot of their lock moves to another master', async () => {
  const [lock, second] = shared('moving');
  const readers = [await lock.read.acquire(), await second.read.acquire()];
  const waits: Promise<Lease>[] = [second.write.acquire()];
  await queued(lock.read, 1);
  waits.push(second.read.acquire(), lock.read.acquire());
  await queued(lock.read, 3);
  const key = 'mortise:locks:{moving}:write';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await clients[0].cluster('KEYSLOT', key), other);
  const tokens = readers.map(({ fencingToken }) => fencingToken);
  for (const reader of readers) {
    await reader.renew();
    expect(await reader.release()).toBe(true);
  }
  const next = waits.map(async (wait) => {
    const lease = await wait;
    tokens.push(lease.fencingToken);
    return lease.release();
  });
  expect(await Promise.all(next)).toEqual([true, true, true]);
  expect(new Set(tokens).size).toBe(5);
  expect(Math.min(...tokens.slice(2))).toBeGreaterThan(Math.max(...tokens.slice(0, 2)));
  // A re-check that was on its way may have put a waiter back, and takes it out again.
  await queued(lock.read, 0);
  expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0 });
});
