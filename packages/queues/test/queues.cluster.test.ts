import { describe, expect, test } from '@jest/globals';
import { Overviews, Queue } from '@mortise/queues';
import type { FlowTask, QueueEvent, TaskContext } from '@mortise/queues';
import type { RedisServer } from '@mortise/redis-server';
import { gate, runCluster } from '@mortise/test-kit';
import { run as runCli } from '../src/cli/run.js';
import { QueueKeys } from '../src/keys.js';
import type { Tasks } from './fixture/launch.js';
import { launch } from './fixture/launch.js';
import { heldOverdue, heldRechecks, heldRenewals } from './fixture/paused-timers.js';
import { counted, until } from './fixture/until.js';

// No failover but those that a test asks for.
const { servers, cluster } = await runCluster({ nodeTimeoutMs: 15_000 });

const range = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

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
    const idle = await new Overviews(cluster, { prefix }).read(queues.map(({ name }) => name));
    expect(idle.map(({ nextEnqueuedAt }) => nextEnqueuedAt)).toEqual([null, null, null]);
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
      await counted(queue, { succeeded: 4 });
      expect(await queue.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 });
      expect(run.filter((line) => line.startsWith(name)).length).toBe(5);
    }
  });
});

test('tasks of a queue with shards on all masters, by id and all together', async () => {
  const prefix = 'operate';
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards: 6 });
  const ids = range(60);
  // Groups decide where these lie, not their ids.
  await queue.enqueueMany(
    ids.map((id, n) => ({ name: 't', payload: id, options: { id, ...(n % 2 && { group: id }) } })),
  );
  const all = async (some: readonly string[], act: 'cancel' | 'retry' | 'remove'): Promise<void> =>
    expect(await Promise.all(some.map((id) => queue[act](id)))).toEqual(some.map(() => true));
  await all(ids.slice(0, 30), 'cancel');
  expect(await queue.counts()).toMatchObject({ ready: 30, cancelled: 30 });
  await all(ids.slice(0, 5), 'retry');
  await all(ids.slice(55), 'remove');
  expect(await queue.retryAll({ state: 'cancelled', limit: 15 })).toBe(15);
  expect(await queue.clean('cancelled')).toBe(10);

  const listed: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await queue.list('ready', { cursor, limit: 4 });
    listed.push(...page.tasks.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(listed).toHaveLength(45);
  expect(new Set(listed).size).toBe(45);

  const running = new Map<string, AbortSignal>();
  const t = async (_: unknown, { id, signal }: { id: string; signal: AbortSignal }): Promise<void> => {
    running.set(id, signal);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
  };
  await launch(cluster, 'q', { t }, { prefix, onError: () => undefined });
  await until(() => running.size === 45);
  const cancelled = listed.slice(0, 12);
  await Promise.all(cancelled.map((id) => queue.cancel(id)));
  await until(() => cancelled.every((id) => running.get(id)!.aborted));
  expect(await queue.counts()).toMatchObject({ active: 33, cancelled: 12 });
  await queue.enqueueMany(range(20).map((id) => ({ name: 't', payload: id, options: { delayMs: 60_000 } })));
  expect(await queue.drain({ scheduled: true })).toBe(20);
});

test('old and new workers of a queue with shards on all masters', async () => {
  const prefix = 'deploy';
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards: 6 });
  await queue.enqueueMany(range(60).map((payload) => ({ name: 'new', payload })));
  await launch(cluster, 'q', { old: () => undefined }, { prefix, onError: () => undefined });
  await until(async () => (await queue.counts()).retrying > 30);
  expect(await queue.names()).toEqual(['old']);
  const attempts: number[] = [];
  await launch(
    cluster,
    'q',
    { old: () => undefined, new: (_, { attempt }) => void attempts.push(attempt) },
    { prefix },
  );
  await counted(queue, { succeeded: 60, dead: 0 });
  expect(attempts).toEqual(Array.from({ length: 60 }, () => 1));
  expect(await queue.names()).toEqual(['new', 'old']);
});

test('obliterate leaves no key on any master, and other processes go on', async () => {
  const prefix = 'obliterate';
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards: 6 });
  const tasks = range(60).map((group) => ({ name: 't', payload: 1, options: { group } }));
  await queue.enqueueMany(tasks);
  await queue.schedule('daily', { everyMs: 3_600_000 }, 't', 1);
  const other = new Queue<Tasks>(cluster, 'q', { prefix });
  expect(await other.counts()).toMatchObject({ ready: 60 });
  const keysLeft = async (): Promise<string[]> =>
    (await Promise.all(cluster.nodes('master').map((node) => node.keys(`${prefix}:*`)))).flat();
  expect((await keysLeft()).length).toBeGreaterThan(20);
  expect(await other.obliterate()).toBe(true);
  expect(await keysLeft()).toEqual([]);
  await queue.enqueueMany(tasks);
  expect(await new Queue<Tasks>(cluster, 'q', { prefix }).counts()).toMatchObject({ ready: 60 });
  expect(await Queue.names(cluster, { prefix })).toEqual(['q']);
});

test('names, pauses everywhere, and the program', async () => {
  const prefix = 'names';
  const names = range(12);
  for (const name of names) await new Queue<Tasks>(cluster, name, { prefix }).enqueue('t', 1);
  expect(await Queue.names(cluster, { prefix })).toEqual(names.toSorted());
  expect(await Queue.pauseAll(cluster, { prefix })).toEqual(names.toSorted());
  const { host, port } = servers.startupNodes[0]!;
  let out = '';
  let err = '';
  const code = await runCli(
    ['ls', '--json', '--cluster', '--redis', `redis://${host}:${port}`, '--prefix', prefix],
    {
      env: {},
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    },
  );
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject(
    names.toSorted().map((name) => ({ name, isPaused: true, counts: { ready: 1 } })),
  );
});

test('flows, results and events over queues and shards on all masters', async () => {
  const prefix = 'flow';
  const names = Array.from({ length: 4 }, (_, index) => `queue ${index}`);
  const queues = names.map((name, index) => new Queue<Tasks>(cluster, name, { prefix, shards: 1 + index }));
  for (const queue of queues) await queue.configure({ keepEvents: 1_000 });
  const owners = names.map((name) => servers.ownerOf(new QueueKeys(name, prefix).of.tasks));
  expect(new Set(await Promise.all(owners)).size).toBeGreaterThan(1);
  const handlers = {
    one: () => 1,
    sum: async (_: unknown, context: TaskContext) =>
      (await context.children()).reduce((total, { result }) => total + (result as number), 0),
  };
  const events: QueueEvent[] = [];
  const reading = (async () => {
    for await (const event of queues[3]!.events({ after: 'oldest' })) {
      events.push(event);
      if (events.filter(({ type }) => type === 'succeeded').length === 5 * 15) return;
    }
  })();
  const tree = (depth: number): FlowTask =>
    depth === 3
      ? { queue: names[3]!, name: 'one', payload: null }
      : {
          queue: names[depth]!,
          name: 'sum',
          payload: null,
          children: [tree(depth + 1), tree(depth + 1), { queue: names[3]!, name: 'one', payload: null }],
        };
  const flows = await Promise.all(Array.from({ length: 5 }, () => queues[0]!.enqueueFlow(tree(0))));
  // Each flow has 8 + 4 + 2 + 1 leaves, all in the last queue.
  const results = Promise.all(flows.map(({ id }) => queues[0]!.result(id)));
  await launch(cluster, names, handlers, { prefix, keepSucceeded: 0 });
  expect(await results).toEqual(flows.map(() => 15));
  await reading;
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['enqueued', 'started', 'succeeded']));
  for (const queue of queues) {
    expect(Object.values(await queue.counts()).every((count) => count === 0)).toBe(true);
  }
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
    await counted(later, { succeeded: 3 });
    expect(errors).toEqual([]);
  });
});
