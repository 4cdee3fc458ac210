/**
 * The server of a queue changes while producers and workers are at it.
 *
 * Redis replicates asynchronously. A master that dies, and one that Sentinel demotes, may take tasks with it that it has
 * accepted a moment before, and ends of attempts, which are run again then. That moment is all that is excused. A failover
 * that Cluster was asked for, and a slot that moves, lose nothing, and neither does who waits for the replicas.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel } from '@mortise/redis-server';
import { keySlot, startCluster, startSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import type { RedisAddress } from '../../src/locks/config.js';
import type { Violation } from '../../src/queues/accountant.js';
import { endOfLoad, LOAD_WORKERS, planLoad } from '../../src/queues/load.js';
import type { QueueRunOptions } from '../../src/queues/queue-run.js';
import { QueueRun } from '../../src/queues/queue-run.js';

/** All keys of the queue are in this slot. */
const KEY = '{q}';

let run: QueueRun;

afterEach(() => run?.dispose());

async function start(address: RedisAddress, options: Partial<QueueRunOptions> = {}): Promise<void> {
  run = new QueueRun(address, {
    prefix: freshPrefix(),
    tasks: 200_000,
    plan: planLoad,
    workers: LOAD_WORKERS,
    chunk: 20,
    pauseMs: 10,
    ...options,
  });
  await run.fleet.start(2);
}

interface Loss {
  readonly violations: readonly Violation[];
  /** Tasks that are neither there nor excused. */
  readonly lost: number;
  readonly forgotten: number;
}

const NOTHING_LOST: Loss = { violations: [], lost: 0, forgotten: 0 };

async function underLoad(act: () => Promise<unknown>, mayForget: boolean): Promise<Loss> {
  const accepted = await run.whileProducing(async () => {
    await run.movesOn(300);
    await run.during(act, { mayForget });
    await run.movesOn(300);
  });
  const { violations, tasks, duplicates } = await run.verdict({ endOf: endOfLoad });
  const { succeeded, dead, forgotten } = tasks;
  process.stdout.write(`accepted ${accepted}, forgotten ${forgotten}, ran again unasked ${duplicates}\n`);
  return { violations, lost: accepted - succeeded - dead - forgotten, forgotten };
}

describe('Sentinel', () => {
  let group: RedisSentinel;

  beforeEach(async () => {
    group = await startSentinel();
  });

  afterEach(() => group?.stop());

  async function replaceMaster(): Promise<void> {
    const master = await group.master();
    await master.kill();
    await until('another master', async () => (await group.master()) !== master);
  }

  test('promotes a replica: what was accepted before is there', async () => {
    await start({ name: group.name, sentinels: group.sentinels });
    expect(await underLoad(() => group.failover(), true)).toMatchObject({ violations: [], lost: 0 });
  });

  test('replaces a master that was killed: what was accepted before the last moment is there', async () => {
    await start({ name: group.name, sentinels: group.sentinels });
    expect(await underLoad(replaceMaster, true)).toMatchObject({ violations: [], lost: 0 });
  });

  test('replaces a master that was killed: no change is lost that the replicas have acked', async () => {
    await start(
      { name: group.name, sentinels: group.sentinels },
      {
        // A repeated enqueue writes nothing, so WAIT has to have a write of this connection to wait for.
        confirm: async (redis) => {
          const [, replicas] = await Promise.all([redis.set('{q}:confirm', '1'), redis.wait(2, 500)]).catch(
            () => [null, 0] as const,
          );
          return replicas === 2;
        },
      },
    );
    const loss = await underLoad(async () => {
      const master = await group.master();
      await replaceMaster();
      await master.restart();
      await group.settled();
    }, true);
    expect(loss).toEqual(NOTHING_LOST);
  });
});

describe('Cluster', () => {
  let cluster: RedisCluster;

  // Long enough for a busy machine: a replica that takes over unasked, while a slot moves, leaves half of its keys behind.
  beforeEach(async () => {
    cluster = await startCluster({ nodeTimeoutMs: 15_000 });
  });

  afterEach(() => cluster?.stop());

  test('promotes a replica on request, twice: nothing is lost', async () => {
    await start({ startupNodes: cluster.startupNodes });
    const loss = await underLoad(async () => {
      for (let time = 0; time < 2; time += 1) {
        const master = await cluster.ownerOf(KEY);
        expect(await cluster.failover(master)).not.toBe(master);
        await run.movesOn(200);
      }
    }, false);
    expect(loss).toEqual(NOTHING_LOST);
  });

  test('moves the slot of the queue to another master, and back: nothing is lost', async () => {
    await start({ startupNodes: cluster.startupNodes });
    const loss = await underLoad(async () => {
      const first = await cluster.ownerOf(KEY);
      const other = cluster.nodes.find((node) => node !== first)!;
      for (const target of [other, first]) {
        await cluster.moveSlot(keySlot(KEY), target);
        await run.movesOn(200);
      }
    }, false);
    expect(loss).toEqual(NOTHING_LOST);
  });

  test('promotes replicas of all masters under a queue with shards: nothing is lost', async () => {
    await start(
      { startupNodes: cluster.startupNodes },
      { queues: ['shards'], queueOptions: () => ({ shards: 4 }) },
    );
    const loss = await underLoad(async () => {
      for (const slot of [0, 8_000, 16_000]) await cluster.failover(await cluster.ownerOf(slot));
    }, false);
    expect(loss).toEqual(NOTHING_LOST);
  });
});

describe('Cluster whose masters are replaced when they are silent for a second', () => {
  let cluster: RedisCluster;

  beforeEach(async () => {
    cluster = await startCluster({ nodeTimeoutMs: 1_000 });
  });

  afterEach(() => cluster?.stop());

  test('replaces a master that was killed: what was accepted before the last moment is there', async () => {
    await start({ startupNodes: cluster.startupNodes });
    const loss = await underLoad(async () => {
      const master = await cluster.ownerOf(KEY);
      await master.kill();
      await until('another owner', async () => (await cluster.ownerOf(KEY)) !== master);
    }, true);
    expect(loss).toMatchObject({ violations: [], lost: 0 });
  });
});
