/**
 * The server of a fleet changes while it refreshes rows. Redis replicates asynchronously, so a master that dies may take with it
 * what it has accepted a moment before: leases, commits, changes of the schedule. Rows that were scheduled long before are still
 * refreshed within their bound, and no reader misses a row.
 */
import { afterEach, expect, test } from '@jest/globals';
import { startCluster, startSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import type { RedisAddress } from '../../src/locks/config.js';
import { RowFleet } from '../../src/rows/fleet.js';

const EVERY_MS = 200;
const LEASE_MS = 1_000;
const ROWS = 200;
/** How much later than the bound a row may be on a machine with other work. */
const SLACK_MS = 3_000;
const TIMES = 3;
const ALL = { scheduled: ROWS, loaded: ROWS };

let fleet: RowFleet | undefined;
let servers: { stop(): Promise<void> } | undefined;

afterEach(async () => {
  await fleet?.dispose();
  fleet = undefined;
  await servers?.stop();
});

async function start(redis: RedisAddress): Promise<RowFleet> {
  fleet = new RowFleet({ redis, prefix: freshPrefix(), rows: ROWS, everyMs: EVERY_MS, leaseMs: LEASE_MS });
  await fleet.start(4);
  await until('the first fill', async () => (await fleet!.rows.stats()).loaded === ROWS);
  return fleet;
}

/** The source lies in the same Redis, so a change of it may be lost as well. */
async function expectRefreshed(of: RowFleet): Promise<void> {
  let version = await of.change();
  await until('a new version of all rows', async () => {
    expect((await of.rows.getMany(of.ids)).size).toBe(ROWS);
    if ((await of.count(version)) === ROWS) return true;
    if ((await of.count(version)) === 0) version = await of.change();
    return false;
  });
  await until('rows within their bound', async () => (await of.oldestMs()) < EVERY_MS + LEASE_MS + SLACK_MS);
}

test('Sentinel promotes a replica on request, or because the master was killed', async () => {
  const sentinel = await startSentinel();
  servers = sentinel;
  const { name, sentinels } = sentinel;
  const running = await start({ name, sentinels });
  await sentinel.failover();
  await expectRefreshed(running);
  const master = await sentinel.master();
  await sentinel.replicated();
  await master.kill();
  await sentinel.failover();
  await expectRefreshed(running);
  expect(await running.rows.stats()).toMatchObject(ALL);
});

test('Cluster promotes replicas on request', async () => {
  const cluster = await startCluster();
  servers = cluster;
  const running = await start({ startupNodes: cluster.startupNodes });
  for (let time = 0; time < TIMES; time += 1) {
    await cluster.failover(await cluster.ownerOf(time * 8_000));
    await expectRefreshed(running);
  }
  expect(await running.rows.stats()).toMatchObject(ALL);
});

test('Cluster replaces a master that was killed, and one that stands still', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 3_000 });
  servers = cluster;
  const running = await start({ startupNodes: cluster.startupNodes });
  const first = await cluster.ownerOf(0);
  // A replica that is not streamed to yet would not have them.
  await cluster.replicated();
  await first.kill();
  await until('another owner', async () => (await cluster.ownerOf(0)) !== first);
  await expectRefreshed(running);
  const second = await cluster.ownerOf(16_000);
  second.pause();
  await until('another owner', async () => (await cluster.ownerOf(16_000)) !== second);
  second.resume();
  await expectRefreshed(running);
  expect(await running.rows.stats()).toMatchObject(ALL);
});
