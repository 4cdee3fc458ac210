import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';
import { unlessExpired } from '../fixture/occupants.js';
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

function shared(name: string, permits: number): [Semaphore, Semaphore] {
  return [new Semaphore(clients[0], name, { permits }), new Semaphore(clients[1], name, { permits })];
}

test('semaphores of all masters hand permits on, inside a process and between two, never too many', async () => {
  const names = Array.from({ length: 15 }, (_, index) => `pool ${index}`);
  const most = await Promise.all(
    names.map(async (name) => {
      const semaphores = shared(name, 3);
      const held = await semaphores[0].acquire({ permits: 3 });
      const inside = new Map<Lease, number>();
      let peak = 0;
      const sections: Promise<unknown>[] = [];
      for (let index = 0; index < 8; index += 1) {
        const permits = 1 + (index % 2);
        const section = semaphores[index % 2]!.using(
          async (_, lease) => {
            inside.set(lease, permits);
            // A lease that is over, because this process stood still for a second, does not count.
            const valid = [...inside].filter(([{ isValid }]) => isValid);
            peak = Math.max(
              peak,
              valid.reduce((sum, [, each]) => sum + each, 0),
            );
            await lease.renew();
            inside.delete(lease);
          },
          { permits },
        );
        sections.push(section.catch(unlessExpired));
        await queued(semaphores[0], index + 1);
      }
      await held.release();
      await Promise.all(sections);
      expect(await semaphores[1].available()).toBe(3);
      return peak;
    }),
  );
  expect(Math.max(...most)).toBe(3);
  const sizes = await Promise.all(clients[0].nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('holders and waiters go on while the slot of their semaphore moves to another master', async () => {
  const [semaphore, second] = shared('moving', 2);
  const held = [await semaphore.acquire(), await second.acquire()];
  const waits = [second.acquire(), second.acquire(), semaphore.acquire()];
  await queued(semaphore, 3);
  const key = 'mortise:locks:{moving}:permits';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await clients[0].cluster('KEYSLOT', key), other);
  for (const lease of held) {
    await lease.renew();
    expect(await lease.release()).toBe(true);
  }
  const released = waits.map(async (wait) => (await wait).release());
  expect(await Promise.all(released)).toEqual([true, true, true]);
  expect(await semaphore.inspect()).toMatchObject({ used: 0, queueLength: 0 });
});
