import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster, RedisServer } from '@mortise/redis-server';
import { Cluster } from 'ioredis';
import { gate } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import { heldOverdue, heldRechecks, heldRenewals } from './fixture/paused-timers.js';
import { launch } from './fixture/launch.js';
import { until } from './fixture/until.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  // No failover but those that a test asks for.
  servers = await startCluster({ nodeTimeoutMs: 15_000 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

/** Queues of this prefix, one on each master. */
async function onEachMaster(prefix: string): Promise<{ name: string; master: RedisServer }[]> {
  const found = new Map<RedisServer, string>();
  for (let n = 0; found.size < 3; n += 1) {
    const name = `queue ${n}`;
    const master = await servers.ownerOf(new QueueKeys(name, prefix).of.tasks);
    if (!found.has(master)) found.set(master, name);
  }
  return [...found].map(([master, name]) => ({ name, master }));
}

describe('without looking by themselves', () => {
  heldRechecks();

  test('the main path, with queues on all masters: in order, woken, delayed, retried', async () => {
    const prefix = 'main';
    const queues = await onEachMaster(prefix);
    const run: string[] = [];
    const t = (payload: string, { queue, attempt }: { queue: string; attempt: number }): void => {
      run.push(`${queue}: ${payload}`);
      if (payload === 'retried' && attempt === 1) throw new Error('again');
    };
    await launch(
      cluster,
      queues.map(({ name }) => name),
      { t },
      { prefix, backoff: { type: 'fixed', delayMs: 30, jitter: 0 } },
    );
    for (const { name } of queues) {
      await until(async () => (await cluster.zcard(new QueueKeys(name, prefix).of.idle)) === 1);
    }
    for (const { name } of queues) {
      const queue = new Queue<Tasks>(cluster, name, { prefix });
      for (const payload of ['a', 'b']) {
        const before = run.length;
        await queue.enqueue('t', payload);
        // SPUBLISH has reached it.
        await until(() => run.length > before);
      }
      await queue.enqueue('t', 'delayed', { delayMs: 50 });
      const { id } = await queue.enqueue('t', 'retried');
      await until(async () => (await queue.counts()).succeeded === 4);
      expect(await queue.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 });
      expect(run.filter((line) => line.startsWith(name)).length).toBe(5);
    }
  });
});

test('a worker and its queue move to another master, and a master fails over, with nothing lost', async () => {
  const prefix = 'moving';
  const { tasks } = new QueueKeys('q', prefix).of;
  const queue = new Queue<Tasks>(cluster, 'q', { prefix });
  const run = new Set<number>();
  const errors: unknown[] = [];
  const t = async (payload: number): Promise<void> => {
    await new Promise(setImmediate);
    run.add(payload);
  };
  await launch(
    cluster,
    'q',
    { t },
    { prefix, concurrency: 5, leaseMs: 1_000, onError: (error) => errors.push(error) },
  );
  const accepted: number[] = [];
  const production = { isOver: false };
  const producer = (async () => {
    for (let n = 0; !production.isOver; n += 1) {
      await queue.enqueue('t', n, { id: `task ${n}`, attempts: 50 });
      accepted.push(n);
    }
  })();
  await until(() => run.size > 50);
  const owner = await servers.ownerOf(tasks);
  const other = servers.nodes.slice(0, 3).find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', tasks), other);
  const moved = run.size;
  await until(() => run.size > moved + 50);
  await servers.failover(other);
  const failedOver = run.size;
  await until(() => run.size > failedOver + 50);
  production.isOver = true;
  await producer;
  await until(async () => (await queue.counts()).ready + (await queue.counts()).active === 0);
  expect(accepted.filter((n) => !run.has(n))).toEqual([]);
  expect((await queue.counts()).dead).toBe(0);
});

describe('a master that does not answer', () => {
  const [rechecks, overdue, renewals] = [heldRechecks(), heldOverdue(), heldRenewals()];

  test('holds up no later queue, and costs no lease of others', async () => {
    const prefix = 'silent';
    const [silent, fine] = (await onEachMaster(prefix)) as [
      { name: string; master: RedisServer },
      { name: string; master: RedisServer },
    ];
    const run: string[] = [];
    const errors: unknown[] = [];
    const door = gate();
    let isAborted = false;
    await launch(
      cluster,
      [silent.name, fine.name],
      {
        t: (payload) => void run.push(payload),
        long: async (_, { signal }) => {
          signal.addEventListener('abort', () => (isAborted = true));
          run.push('long');
          await door.passed;
        },
      },
      { prefix, concurrency: 2, onError: (error) => errors.push(error) },
    );
    const later = new Queue<Tasks>(cluster, fine.name, { prefix });
    const { id: long } = await later.enqueue('long', 1);
    await until(() => run.length === 1);
    const leaseUntil = async (): Promise<number> => (await later.get(long))!.leaseUntil!;
    await until(async () => (await cluster.zcard(new QueueKeys(silent.name, prefix).of.idle)) === 1);
    silent.master.pause();
    try {
      // The next look at the first queue sets a slot aside, and is given a lease of time; the one after it takes none.
      await until(() => rechecks.fire() > 0);
      await later.enqueue('t', 'later');
      await until(() => overdue.fire() > 0 || run.length === 2);
      await until(() => run.length === 2);
      rechecks.fire();
      await later.enqueue('t', 'last');
      await until(() => run.length === 3);
      const before = await leaseUntil();
      await until(async () => renewals.fire() >= 0 && (await leaseUntil()) > before);
      expect(isAborted).toBe(false);
    } finally {
      silent.master.resume();
    }
    await new Queue<Tasks>(cluster, silent.name, { prefix }).enqueue('t', 'first');
    await until(() => run.length === 4);
    expect(run).toEqual(['long', 'later', 'last', 'first']);
    door.open();
    await until(async () => (await later.counts()).succeeded === 3);
    expect(errors).toEqual([]);
  });
});
