/**
 * The server of the lock changes in the middle of 100 waiters.
 *
 * Redis replicates asynchronously. A master that dies, or that Sentinel demotes, may lose grants that clients know. Then a
 * second client is granted the lock while the first one still works. So only the token excludes grants from before the new
 * master: tokens rise without exception, and the resource refuses old ones and loses no update. A planned failover of Cluster
 * and a slot that moves lose nothing, and nothing is excused.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel } from '@mortise/redis-server';
import { keySlot, startCluster, startSentinel } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Crowd } from './crowd.js';

/** All locks of the crowd have the same name, so they are in one slot. */
const KEY = '{lock}';

let crowd: Crowd;

afterEach(() => crowd?.dispose());

describe('Sentinel', () => {
  let group: RedisSentinel;

  beforeEach(async () => {
    group = await startSentinel();
    crowd = await Crowd.at({ name: group.name, sentinels: group.sentinels });
    crowd.repeats();
  });

  afterEach(() => group?.stop());

  test('promotes a replica', async () => {
    await crowd.losing(() => group.failover());
    await crowd.movesOn();
    expect((await crowd.verdict()).violations).toEqual([]);
  });

  test('replaces a master that was killed', async () => {
    const master = await group.master();
    await crowd.losing(async () => {
      await master.kill();
      await until('another master', async () => (await group.master()) !== master, 20_000);
    });
    await crowd.movesOn();
    expect((await crowd.verdict()).violations).toEqual([]);
  });
});

describe('Cluster', () => {
  let cluster: RedisCluster;

  beforeEach(async () => {
    cluster = await startCluster({ nodeTimeoutMs: 1_000 });
    crowd = await Crowd.at({ startupNodes: cluster.startupNodes });
    crowd.repeats();
  });

  afterEach(() => cluster?.stop());

  test('promotes a replica, twice', async () => {
    for (let time = 0; time < 2; time += 1) {
      const master = await cluster.ownerOf(KEY);
      expect(await cluster.failover(master)).not.toBe(master);
      await crowd.movesOn();
    }
    expect((await crowd.verdict()).violations).toEqual([]);
  });

  test('replaces a master that was killed', async () => {
    const master = await cluster.ownerOf(KEY);
    await crowd.losing(async () => {
      await master.kill();
      await until('another owner', async () => (await cluster.ownerOf(KEY)) !== master, 20_000);
    });
    await crowd.movesOn();
    expect((await crowd.verdict()).violations).toEqual([]);
  });

  test('moves the slot of the lock to another master, and back', async () => {
    const first = await cluster.ownerOf(KEY);
    const other = cluster.nodes.find((node) => node !== first)!;
    for (const target of [other, first]) {
      await cluster.moveSlot(keySlot(KEY), target);
      await crowd.movesOn();
    }
    expect((await crowd.verdict()).violations).toEqual([]);
  });
});
