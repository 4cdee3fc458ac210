/** Locks on three masters, used by two processes. Those with replicas have a file of their own. */
import { describe, expect, test } from '@jest/globals';
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { Lease, WriteLease } from '@mortise/locks';
import { keySlot } from '@mortise/redis';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';
import { Occupants, unlessExpired } from './fixture/occupants.js';
import { queued } from './fixture/queued.js';

const { servers, cluster, connect } = await runCluster({ replicasPerMaster: 0 });
const clients = [cluster, connect()] as const;

/** The same lock, as each of two processes sees it. */
function shared<Lock>(make: (client: Cluster) => Lock): [Lock, Lock] {
  return [make(clients[0]), make(clients[1])];
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `lock ${index}`);
}

async function mastersWithKeys(prefix: string): Promise<number> {
  const keys = await Promise.all(cluster.nodes('master').map((node) => node.keys(`${prefix}:*`)));
  return keys.filter(({ length }) => length > 0).length;
}

async function moveSlotOf(key: string): Promise<void> {
  const owner = await servers.ownerOf(key);
  await servers.moveSlot(
    keySlot(key),
    servers.nodes.find((node) => node !== owner)!,
  );
}

interface Side extends Pick<Mutex, 'acquire' | 'using'> {
  inspect(): Promise<{ readonly queueLength: number }>;
}

interface HandedOn {
  readonly kind: string;
  readonly sides: readonly ('read' | 'write')[];
  readonly of: (
    client: Cluster,
    name: string,
    prefix: string,
  ) => { readonly read: Side; readonly write: Side };
  readonly release: (holder: Lease) => Promise<boolean>;
}

const HANDED_ON: readonly HandedOn[] = [
  {
    kind: 'Mutex',
    sides: ['write', 'write', 'write', 'write', 'write', 'write'],
    of: (client, name, prefix) => {
      const mutex = new Mutex(client, name, { prefix });
      return { read: mutex, write: mutex };
    },
    release: (holder) => holder.release(),
  },
  {
    kind: 'ReadWriteLock',
    sides: ['read', 'read', 'write', 'read', 'read', 'write'],
    of: (client, name, prefix) => new ReadWriteLock(client, name, { prefix }),
    release: async (holder) => (await (holder as WriteLease).downgrade()).release(),
  },
];

test.each(HANDED_ON)(
  'a $kind on any master goes to readers together and to writers one by one, in a process and between two',
  async ({ sides, of, release }) => {
    const prefix = freshPrefix();
    const names = namesOf(30);
    const labels = sides.map((side, index) =>
      side === 'write' ? `writer ${index}` : `readers ${Math.floor(index / 3)}`,
    );
    const phases = await Promise.all(
      names.map(async (name) => {
        const locks = shared((client) => of(client, name, prefix));
        const writers = new Occupants();
        const besideWriters: number[] = [];
        const arrived: number[] = [];
        const tokens: number[] = [];
        const holder = await locks[0].write.acquire();
        const sections: Promise<unknown>[] = [];
        for (const [index, side] of sides.entries()) {
          const section = locks[index % 2]![side].using(async (_, lease) => {
            arrived.push(index);
            tokens[index] = lease.fencingToken;
            // The two readers of a phase are in at the same time.
            const beside = index % 3 === 0 ? index + 1 : index - 1;
            if (side === 'read') await until('the other reader', () => arrived.includes(beside));
            else besideWriters.push(writers.enter(lease));
            await lease.renew();
            writers.leave(lease);
          });
          sections.push(section.catch(unlessExpired));
          await queued(locks[0].write, index + 1);
        }
        expect(await release(holder)).toBe(true);
        await Promise.all(sections);
        expect(besideWriters.filter((others) => others > 0)).toEqual([]);
        expect(new Set(tokens).size).toBe(sides.length);
        const written = tokens.filter((_, index) => sides[index] === 'write');
        expect(written).toEqual(written.toSorted((a, b) => a - b));
        return arrived.map((index) => labels[index]);
      }),
    );
    expect(phases).toEqual(names.map(() => labels));
    expect(await mastersWithKeys(prefix)).toBe(3);
  },
);

test('semaphores of all masters hand permits on, inside a process and between two, never too many', async () => {
  const prefix = freshPrefix();
  const most = await Promise.all(
    namesOf(15).map(async (name) => {
      const semaphores = shared((client) => new Semaphore(client, name, { prefix, permits: 3 }));
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
  expect(await mastersWithKeys(prefix)).toBe(3);
});

interface Moving {
  readonly kind: string;
  readonly part: string;
  readonly holders: number;
  /** Acquisitions that exclude each other, so that their tokens rise. */
  readonly rising: readonly number[];
  readonly of: (
    client: Cluster,
    prefix: string,
  ) => Pick<Side, 'inspect'> & {
    readonly take: (index: number) => Promise<Lease>;
  };
  readonly free: object;
}

const MOVING: readonly Moving[] = [
  {
    kind: 'Mutex',
    part: 'lease',
    holders: 1,
    rising: [0, 1, 2, 3, 4],
    of: (client, prefix) => {
      const mutex = new Mutex(client, 'moving', { prefix });
      return { take: () => mutex.acquire(), inspect: () => mutex.inspect() };
    },
    free: { holder: null },
  },
  {
    kind: 'ReadWriteLock',
    part: 'write',
    holders: 2,
    rising: [0, 2, 3],
    of: (client, prefix) => {
      const { read, write } = new ReadWriteLock(client, 'moving', { prefix });
      const take = (index: number): Promise<Lease> => (index === 2 ? write : read).acquire();
      return { take, inspect: () => read.inspect() };
    },
    free: { writer: null, readers: 0 },
  },
  {
    kind: 'Semaphore',
    part: 'permits',
    holders: 2,
    rising: [0, 2],
    of: (client, prefix) => {
      const semaphore = new Semaphore(client, 'moving', { prefix, permits: 2 });
      return { take: () => semaphore.acquire(), inspect: () => semaphore.inspect() };
    },
    free: { used: 0 },
  },
];

test.each(MOVING)(
  'holders and waiters of a $kind go on while its slot moves to another master',
  async ({ part, holders, rising, of, free }) => {
    const prefix = freshPrefix();
    const locks = shared((client) => of(client, prefix));
    const takes: Promise<Lease>[] = [];
    for (const [index, client] of [0, 1, 1, 1, 0].entries()) {
      takes.push(locks[client]!.take(index));
      if (index < holders) await takes[index];
      else await queued(locks[0], index + 1 - holders);
    }
    await moveSlotOf(`${prefix}:locks:{moving}:${part}`);
    for (const take of takes.slice(0, holders)) {
      const lease = await take;
      await lease.renew();
      expect(await lease.release()).toBe(true);
    }
    const released = await Promise.all(takes.slice(holders).map(async (take) => (await take).release()));
    expect(released.every(Boolean)).toBe(true);
    const tokens = (await Promise.all(takes)).map(({ fencingToken }) => fencingToken);
    expect(new Set(tokens).size).toBe(5);
    expect(Math.min(...tokens.slice(holders))).toBeGreaterThan(Math.max(...tokens.slice(0, holders)));
    const exclusive = rising.map((index) => tokens[index]!);
    expect(exclusive).toEqual(exclusive.toSorted((a, b) => a - b));
    // A re-check that was on its way may have put a waiter back, and takes it out again.
    await queued(locks[0], 0);
    expect(await locks[0].inspect()).toMatchObject(free);
  },
);

describe('MultiLock', () => {
  const prefix = freshPrefix();
  const names = namesOf(12);

  test('locks of all masters are taken together, waited for in one order, and given back', async () => {
    const occupants = new Occupants();
    let sections = 0;
    const sets = [names, names.toReversed(), names.slice(4, 9), names.filter((_, index) => index % 3 === 0)];
    const actors = sets.flatMap((set) =>
      clients.map(async (client) => {
        for (let turn = 0; turn < 5; turn += 1) {
          // All sets have "lock 6" in common.
          await new MultiLock(client, set, { prefix }).using(async (_, lease) => {
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
    const states = await new MultiLock(cluster, names, { prefix }).inspect();
    for (const state of states.values()) expect(state).toMatchObject({ holder: null, queueLength: 0 });
    expect(await mastersWithKeys(prefix)).toBe(3);
  });

  test('names of one slot are one command, and the others another', async () => {
    const slotOf = (name: string): number => keySlot(`{${name}}`);
    const first = slotOf('first');
    const same = Array.from({ length: 100_000 }, (_, index) => `n${index}`).filter(
      (name) => slotOf(name) === first,
    );
    const lock = new MultiLock(clients[0], ['first', 'second', ...same.slice(0, 3)], { prefix });
    await lock.using(() => undefined);
    const calls = async (): Promise<number> => {
      const infos = await Promise.all(cluster.nodes('master').map((node) => node.info('commandstats')));
      const counts = infos.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const before = await calls();
    await lock.using(() => undefined);
    expect((await calls()) - before).toBe(4);
  });
});

describe('RateLimiter and CountDownLatch', () => {
  const prefix = freshPrefix();
  const names = namesOf(60);
  const terms = { prefix, limit: 3, periodMs: 3_600_000 };

  test('limiters of all masters count for both processes', async () => {
    const takes = names.flatMap((name) =>
      clients.flatMap((client) => [1, 2].map(() => new RateLimiter(client, name, terms).take())),
    );
    const results = await Promise.all(takes);
    expect(results.filter(({ isAllowed }) => isAllowed)).toHaveLength(3 * names.length);
    const states = names.flatMap((name) => [
      new RateLimiter(cluster, name, terms).peek(),
      RateLimiter.inspect(cluster, name, { prefix }),
    ]);
    for (const state of await Promise.all(states)) expect(state).toMatchObject({ remaining: 0 });
    expect(await mastersWithKeys(prefix)).toBe(3);
  });

  test('latches of all masters open for both processes', async () => {
    const latches = names.map((name) =>
      shared((client) => new CountDownLatch(client, name, { prefix, count: 2 })),
    );
    const opened = latches.flat().map((latch) => latch.wait());
    const counts = latches.flatMap((pair) => pair.map((latch, id) => latch.countDown({ id: String(id) })));
    const remaining = await Promise.all(counts);
    expect(remaining.toSorted((a, b) => a - b)).toEqual([...names.map(() => 0), ...names.map(() => 1)]);
    expect(await Promise.all(opened)).toHaveLength(2 * names.length);
  });

  test('both go on while their slot moves to another master', async () => {
    const gates = shared((client) => new CountDownLatch(client, 'moving', { prefix, count: 2 }));
    const calls = new RateLimiter(cluster, 'moving', terms);
    const waits = gates.map((gate) => gate.wait());
    expect(await gates[0].countDown({ id: 'a' })).toBe(1);
    expect(await calls.take(2)).toMatchObject({ isAllowed: true, remaining: 1 });
    await moveSlotOf(`${prefix}:locks:{moving}:latch`);
    expect(await calls.take(2)).toMatchObject({ isAllowed: false, remaining: 1 });
    expect(await gates[1].countDown({ id: 'b' })).toBe(0);
    await Promise.all(waits);
    expect(await calls.take()).toMatchObject({ isAllowed: true, remaining: 0 });
  });
});
