/**
 * Tasks that come one by one to idle workers, with the messages that wake them. A lost message costs one attempt and its lease,
 * and no task. None runs twice at the same time, and no handler runs more often than `attempts` allows.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel, RedisServer, SingleOptions } from '@mortise/redis-server';
import { keySlot, startCluster, startProxy, startSentinel, startSingle } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { Ledger } from '../../src/ledger.js';
import type { RedisAddress } from '../../src/locks/config.js';
import type { Violation } from '../../src/queues/accountant.js';
import { Executions } from '../../src/queues/executions.js';
import type { PlannedTask } from '../../src/queues/producer.js';
import type { QueueRunOptions } from '../../src/queues/queue-run.js';
import { QueueRun } from '../../src/queues/queue-run.js';

const LEASE_MS = 3_000;
/** Of each run, by the calls that only a hand-off makes. */
const LEAST_HAND_OFFS = 100;
const TASKS = 100_000;

let server: RedisServer | undefined;
let run: QueueRun | undefined;

afterEach(async () => {
  await run?.dispose();
  await server?.stop();
  [run, server] = [undefined, undefined];
});

function planSparse(task: number): PlannedTask {
  if (task % 10 === 3) return { name: 'sleep', payload: 5 };
  if (task % 10 === 7) return { name: 'fail once', payload: null };
  return { name: 'work', payload: null };
}

async function single(options: SingleOptions = {}): Promise<RedisServer> {
  server = await startSingle({ isCluster: true, ...options });
  return server;
}

function start(address: RedisAddress, options: Partial<QueueRunOptions> = {}): QueueRun {
  run = new QueueRun(address, {
    prefix: freshPrefix(),
    tasks: TASKS,
    plan: planSparse,
    workers: { leaseMs: LEASE_MS, concurrency: 3, backoff: { type: 'fixed', delayMs: 10 } },
    chunk: 1,
    pauseMs: 3,
    ...options,
  });
  return run;
}

/** How often a script has asked whether an idle worker listens at this server, since the server started. */
async function handOffs(one: RedisServer): Promise<number> {
  const stats = String(await one.command('INFO', 'commandstats'));
  const [, calls = '0'] = /cmdstat_pubsub\|(?:shard)?numsub:calls=(\d+)/.exec(stats) ?? [];
  return Number(calls);
}

const anyMs = (most: number): Promise<unknown> => pause(Math.random() * most);

interface Found {
  readonly violations: readonly Violation[];
  /** Accepted, and neither done nor excused. */
  readonly lost: number;
  readonly areHandedOff: boolean;
}

const GOOD: Found = { violations: [], lost: 0, areHandedOff: true };

/** Accounts for a run in which `act` is done again and again. `at`: the server that has the queue in the end. */
async function underSparseLoad(
  at: () => RedisServer | Promise<RedisServer>,
  act: () => Promise<unknown>,
  times: number,
): Promise<Found> {
  const { fleet, producer } = run!;
  /** By servers that were restarted or replaced: their counters begin anew. */
  let earlier = 0;
  const accepted = await run!.whileProducing(async () => {
    // On a busy machine a worker is often still at its last task, which is then not handed off.
    await run!.movesOn(3 * LEAST_HAND_OFFS);
    for (let time = 0; time < times; time += 1) {
      await anyMs(150);
      const before = await handOffs(await at());
      await act();
      if ((await handOffs(await at())) < before) earlier += before;
      await run!.movesOn(30);
    }
  });
  const { violations, tasks, duplicates } = await run!.verdict();
  const [last, begun] = [await handOffs(await at()), Executions.read(fleet.sources).count];
  const handedOff = earlier + last;
  process.stdout.write(
    `accepted ${accepted}, handed off ${handedOff} of ${begun}, ran again unasked ${duplicates}, ` +
      `enqueued again ${producer.repeated}, forgotten ${tasks.forgotten}\n`,
  );
  const lost = accepted - tasks.succeeded - tasks.cancelled - tasks.forgotten;
  return { violations, lost, areHandedOff: handedOff >= LEAST_HAND_OFFS };
}

describe('one server', () => {
  test('SIGKILL of workers at any moment: each task is done', async () => {
    const one = await single();
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => one,
      async () => {
        await fleet.running[0]!.kill();
        await fleet.add();
      },
      12,
    );
    expect(found).toEqual(GOOD);
  });

  test('SIGSTOP of workers at any moment, for less and for more than a lease: none runs twice at a time', async () => {
    const one = await single();
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    let time = 0;
    const found = await underSparseLoad(
      () => one,
      async () => {
        const [worker] = fleet.running.slice(time % 2);
        time += 1;
        await worker!.pause();
        await pause([20, 450, 1_500, LEASE_MS - 50, LEASE_MS + 50, LEASE_MS + 500][time % 6]);
        worker!.resume();
      },
      12,
    );
    expect(found).toEqual(GOOD);
  });

  test('connections of subscriptions end at any moment', async () => {
    const one = await single();
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => one,
      () => run!.during(() => one.command('CLIENT', 'KILL', 'TYPE', 'pubsub')),
      30,
    );
    expect(found).toEqual(GOOD);
  });

  test('connections of workers and producers end at any moment', async () => {
    const one = await single();
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => one,
      () => run!.during(() => one.command('CLIENT', 'KILL', 'TYPE', 'normal')),
      30,
    );
    expect(found).toEqual(GOOD);
  });

  test('replies to enqueues are lost: who enqueues again under the same id has the task run once', async () => {
    const one = await single();
    const proxy = await startProxy(one);
    // Only the producer goes through it.
    const { fleet } = start({ url: proxy.url });
    try {
      await fleet.start(2, { redis: { url: one.url } });
      const found = await underSparseLoad(
        () => one,
        async () => {
          proxy.dropReplies();
          await anyMs(20);
          proxy.cut();
          await proxy.restore();
        },
        30,
      );
      expect(found).toEqual(GOOD);
      expect(run!.producer.repeated).toBeGreaterThan(5);
    } finally {
      await proxy.stop();
    }
  });

  test('SIGKILL of Redis at any moment, with appendfsync always: each accepted task is done', async () => {
    const one = await single({ appendFsync: 'always' });
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => one,
      () =>
        run!.during(async () => {
          await one.kill();
          await one.restart();
        }),
      6,
    );
    expect(found).toEqual(GOOD);
  });

  test('SCRIPT FLUSH at any moment', async () => {
    const one = await single();
    const { fleet } = start({ url: one.url });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => one,
      () => one.command('SCRIPT', 'FLUSH'),
      20,
    );
    expect(found).toEqual(GOOD);
  });

  test('the queue is paused, its tasks are cancelled and it gets a limit, while tasks are handed off', async () => {
    const one = await single();
    const { url } = one;
    for (let round = 0; round < 4; round += 1) {
      const { fleet, producer, queues } = start({ url });
      await fleet.start(2);
      const found = await underSparseLoad(
        () => one,
        async () => {
          const { accepted } = producer;
          await queues[0]!.pause();
          await Promise.all([0, 1, 2, 3].map((back) => run!.cancel(accepted - back)));
          await anyMs(30);
          await queues[0]!.configure({ concurrency: 2 });
          await queues[0]!.resume();
        },
        1,
      );
      expect(found).toEqual(GOOD);
      await run!.dispose();
    }
  });
});

describe('a handler that ends the process in its first step', () => {
  const isDeadly = (task: number): boolean => task % 60 === 59;

  test.each<{ what: string; name: string; attempts: number }>([
    { what: 'with one attempt', name: 'poison', attempts: 1 },
    { what: 'with three', name: 'poison', attempts: 3 },
    { what: 'with one attempt, and no worker has run it before', name: 'exit', attempts: 1 },
    { what: 'with three, and no worker has run it before', name: 'exit', attempts: 3 },
  ])('$what', async ({ name, attempts }) => {
    const one = await single();
    const { fleet, producer } = start(
      { url: one.url },
      {
        tasks: 300,
        plan: (task) =>
          isDeadly(task) ? { name, payload: 99, options: { attempts } } : { name: 'poison', payload: 0 },
        pauseMs: 15,
      },
    );
    const endReplacing = fleet.keep(2);
    await until('two workers', () => fleet.running.length === 2);
    await producer.run();
    await until('all to end', async () => (await run!.left()) === 0, 120_000);
    await endReplacing();
    const account = await run!.verdict({ endOf: (task) => (isDeadly(task) ? 'dead' : 'succeeded') });
    expect(account.violations).toEqual([]);
    expect([account.tasks.succeeded, account.tasks.dead]).toEqual([295, 5]);
    const executions = Executions.read(fleet.sources);
    const times = new Map<number, number>();
    for (const task of executions.task) if (isDeadly(task)) times.set(task, (times.get(task) ?? 0) + 1);
    process.stdout.write(`handed off ${await handOffs(one)}, ran ${[...times.values()].join(', ')} times\n`);
    // A deadly task ends the process, so its other tasks lose an attempt, too.
    expect(times.size).toBe(5);
    expect(Math.min(...times.values())).toBeGreaterThanOrEqual(1);
    expect(Math.max(...times.values())).toBeLessThanOrEqual(attempts);
  });
});

describe('failover', () => {
  let group: RedisSentinel | undefined;
  let cluster: RedisCluster | undefined;
  let ledger: Ledger | undefined;

  afterEach(async () => {
    await run?.dispose();
    await ledger?.close();
    await group?.stop();
    await cluster?.stop();
    [group, cluster, ledger] = [undefined, undefined, undefined];
  });

  test('Sentinel: a master that is killed', async () => {
    group = await startSentinel();
    const { fleet } = start({ name: group.name, sentinels: group.sentinels });
    await fleet.start(2);
    const found = await underSparseLoad(
      () => group!.master(),
      () =>
        run!.during(
          async () => {
            const master = await group!.master();
            await master.kill();
            await until('another master', async () => (await group!.master()) !== master);
          },
          { mayForget: true },
        ),
      1,
    );
    expect(found).toEqual(GOOD);
  });

  test('Cluster: a failover that it was asked for loses nothing that Redis has not lost', async () => {
    // Short: masters vote for the successor of the same master only once in twice this time. Long: a replica that takes over
    // unasked, because a busy machine held its master up, forgets.
    cluster = await startCluster({ nodeTimeoutMs: 5_000 });
    const address = { startupNodes: cluster.startupNodes };
    ledger = new Ledger(address, 'ledger:{q}');
    let faults = 0;
    const moveMaster = async (): Promise<void> => {
      const before = ledger!.losses;
      const act = async (): Promise<void> => {
        await cluster!.failover(await cluster!.ownerOf(keySlot('{q}')));
        await ledger!.settled();
      };
      await run!.during(act, { mayForget: () => ledger!.losses > before });
      faults += Number(ledger!.losses > before);
    };
    const { fleet } = start(address);
    await fleet.start(2);
    const found = await underSparseLoad(() => cluster!.ownerOf(keySlot('{q}')), moveMaster, 3);
    process.stdout.write(`failovers in which Redis forgot: ${faults} of 3\n`);
    expect(found).toMatchObject(GOOD);
    expect(faults).toBeLessThan(3);
    expect((await run!.queues[0]!.counts()).active).toBe(0);
  });
});
