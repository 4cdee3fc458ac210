/**
 * The server of a channel changes while files flow. Redis replicates asynchronously: a master that dies takes the last milliseconds with it, and one
 * that Sentinel demotes the two seconds or so in which it went on accepting; whole files then, their ends, what was acked and counted. With
 * Sentinel the new master knows one moment of everything; in a Cluster each master forgets for itself. A failover that Cluster was
 * asked for forgets nothing.
 *
 * The rules: no process hangs, and no process needs an order. The sender finds the forgotten files by their ids and sends them
 * again. A receiver of a forgotten file fails with ERR_FILE_FORGOTTEN and begins again. Then the counts are exact, the copies
 * whole, and nothing is left.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel } from '@mortise/redis-server';
import { startCluster, startSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { GOOD, LogRun } from '../../src/files/log-run.js';

const STEP_BYTES = 500_000;

let run: LogRun | undefined;

afterEach(async () => {
  await run?.dispose();
  run = undefined;
});

async function startRun(address: Parameters<typeof LogRun.start>[0]): Promise<LogRun> {
  run = await LogRun.start(address, { prefix: freshPrefix(), files: 40, pauseMs: 5 });
  await run.movesOn(STEP_BYTES);
  return run;
}

async function expectGood(logs: LogRun): Promise<void> {
  const verdict = await logs.verdict();
  process.stdout.write(`files: refusals ${JSON.stringify(logs.refusals)}\n`);
  expect(verdict).toEqual(GOOD);
}

describe('Sentinel', () => {
  let group: RedisSentinel;

  beforeEach(async () => {
    group = await startSentinel();
  });

  afterEach(() => group?.stop());

  test('promotes a replica: the counts are exact, and nothing is left', async () => {
    const logs = await startRun({ name: group.name, sentinels: group.sentinels });
    logs.forgets();
    await group.failover();
    expect(logs.hasEnded).toBe(false);
    await expectGood(logs);
  });

  test('replaces a master that was killed: the counts are exact, and nothing is left', async () => {
    const logs = await startRun({ name: group.name, sentinels: group.sentinels });
    logs.forgets();
    const master = await group.master();
    await master.kill();
    await until('another master', async () => (await group.master()) !== master);
    expect(logs.hasEnded).toBe(false);
    await expectGood(logs);
  });
});

describe('Cluster', () => {
  let cluster: RedisCluster;

  beforeEach(async () => {
    cluster = await startCluster({ nodeTimeoutMs: 3_000 });
  });

  afterEach(() => cluster?.stop());

  test('promotes replicas of all masters on request: nobody forgets anything', async () => {
    const logs = await startRun({ startupNodes: cluster.startupNodes });
    for (const slot of [0, 8_000, 16_000]) {
      await cluster.failover(await cluster.ownerOf(slot));
      await logs.movesOn(STEP_BYTES);
    }
    expect(logs.hasEnded).toBe(false);
    await expectGood(logs);
  });

  test.each(['{logs}', 'a third of the files'])(
    'replaces the master of %s, which was killed: the counts are exact, and nothing is left',
    async (what) => {
      const logs = await startRun({ startupNodes: cluster.startupNodes });
      logs.forgets();
      const masters = await Promise.all([0, 8_000, 16_000].map(async (slot) => cluster.ownerOf(slot)));
      const ofChannel = await cluster.ownerOf('{logs}');
      const killed = what === '{logs}' ? ofChannel : masters.find((master) => master !== ofChannel)!;
      const slot = [0, 8_000, 16_000][masters.indexOf(killed)]!;
      await killed.kill();
      await until('another owner', async () => (await cluster.ownerOf(slot)) !== killed);
      expect(logs.hasEnded).toBe(false);
      await expectGood(logs);
    },
  );
});
