import { expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { MultiLock, Mutex } from '@mortise/locks';
import { runCluster, until } from '@mortise/test-kit';
import { Occupants } from '../fixture/occupants.js';
import { queued } from '../fixture/queued.js';

const { cluster, connect } = await runCluster({ replicasPerMaster: 0 });
const clients = [cluster, connect()] as const;

const names = Array.from({ length: 12 }, (_, index) => `lock ${index}`);

test('locks of all masters are taken together, waited for in one order, and given back', async () => {
  const occupants = new Occupants();
  let sections = 0;
  const sets = [names, names.toReversed(), names.slice(4, 9), names.filter((_, index) => index % 3 === 0)];
  const actors = sets.flatMap((set) =>
    clients.map(async (client) => {
      for (let turn = 0; turn < 5; turn += 1) {
        // All sets have "lock 6" in common.
        await new MultiLock(client, set).using(async (_, lease) => {
          expect(occupants.enter(lease)).toBe(0);
          await lease.renew();
          expect(lease.isValid).toBe(true);
          occupants.leave(lease);
          sections += 1;
        });
      }
    }),
  );
  await Promise.all(actors);
  expect(sections).toBe(40);
  const states = await new MultiLock(clients[0], names).inspect();
  for (const state of states.values()) expect(state).toMatchObject({ holder: null, queueLength: 0 });
  const sizes = await Promise.all(clients[0].nodes('master').map((node) => node.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('nothing is kept when one is taken, whichever', async () => {
  const lock = new MultiLock(clients[0], names);
  for (const name of [lock.names.at(0)!, lock.names.at(5)!, lock.names.at(-1)!]) {
    const holder = await new Mutex(clients[1], name).acquire();
    expect(await lock.tryAcquire()).toBeNull();
    const refusal = await lock.acquire({ waitMs: 600 }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', lockName: name });
    await until('the others to be free', async () => {
      const states = [...(await lock.inspect())];
      return states.every(([other, state]) => (state.holder !== null) === (other === name));
    });
    await holder.release();
  }
});

test('held locks are kept during the wait for a lock of another slot', async () => {
  const lock = new MultiLock(clients[0], names, { leaseMs: 3_000 });
  const last = new Mutex(clients[1], lock.names.at(-1)!);
  const holder = await last.acquire();
  const wait = lock.acquire();
  await queued(last, 1);
  const startedAt = performance.now();
  await until('a lease to pass', () => performance.now() > startedAt + 3_000);
  const states = [...(await lock.inspect()).values()];
  expect(new Set(states.slice(0, -1).map((state) => state.holder)).size).toBe(1);
  await holder.release();
  const lease = await wait;
  expect(lease.holder).toBe(states[0]!.holder);
  expect(await lease.release()).toBe(true);
});

test('names of one slot are one command, and the others another', async () => {
  const slotOf = (name: string): number => keySlot(`{${name}}`);
  const first = slotOf('first');
  const same = Array.from({ length: 100_000 }, (_, index) => `n${index}`).filter(
    (name) => slotOf(name) === first,
  );
  const lock = new MultiLock(clients[0], ['first', 'second', ...same.slice(0, 3)]);
  await lock.using(() => undefined);
  const calls = async (): Promise<number> => {
    const infos = await Promise.all(clients[0].nodes('master').map((node) => node.info('commandstats')));
    const counts = infos.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const before = await calls();
  await lock.using(() => undefined);
  expect((await calls()) - before).toBe(4);
});
