import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { runCluster } from '@mortise/test-kit';
import { Occupants, unlessExpired } from '../fixture/occupants.js';
import { queued } from '../fixture/queued.js';

const { servers, cluster, connect } = await runCluster({ replicasPerMaster: 0 });
const clients = [cluster, connect()] as const;

function shared(name: string): [Mutex, Mutex] {
  return [new Mutex(clients[0], name), new Mutex(clients[1], name)];
}

test('locks of all masters are handed on, inside a process and between two', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `lock ${index}`);
  const counts = await Promise.all(
    names.map(async (name) => {
      const mutexes = shared(name);
      const occupants = new Occupants();
      const order: number[] = [];
      const tokens: number[] = [];
      const holder = await mutexes[0].acquire();
      const sections: Promise<unknown>[] = [];
      for (let index = 0; index < 6; index += 1) {
        const section = mutexes[index % 2]!.using(async (_, lease) => {
          expect(occupants.enter(lease)).toBe(0);
          order.push(index);
          tokens.push(lease.fencingToken);
          await lease.renew();
          occupants.leave(lease);
        });
        sections.push(section.catch(unlessExpired));
        await queued(mutexes[0], index + 1);
      }
      await holder.release();
      await Promise.all(sections);
      expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
      return order;
    }),
  );
  expect(counts).toEqual(names.map(() => [0, 1, 2, 3, 4, 5]));
  const sizes = await Promise.all(clients[0].nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('holders and waiters go on while the slot of their lock moves to another master', async () => {
  const [mutex, second] = shared('moving');
  const holder = await mutex.acquire();
  const waits = [second.acquire(), second.acquire(), mutex.acquire()];
  await queued(mutex, 3);
  const key = 'mortise:locks:{moving}:lease';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await clients[0].cluster('KEYSLOT', key), other);
  await holder.renew();
  expect(await holder.release()).toBe(true);
  const tokens = [holder.fencingToken];
  const next = waits.map(async (wait) => {
    const lease = await wait;
    tokens.push(lease.fencingToken);
    return lease.release();
  });
  expect(await Promise.all(next)).toEqual([true, true, true]);
  expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  expect(await mutex.inspect()).toMatchObject({ holder: null, queueLength: 0 });
});
