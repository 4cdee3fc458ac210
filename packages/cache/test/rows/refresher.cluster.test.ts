import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 0 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

test('refreshes tables on all masters, and goes on while one moves', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `table ${index}`);
  let version = 1;
  const load = async (ids: readonly string[]): Promise<Map<string, string>> =>
    new Map(ids.map((id) => [id, `${id} version ${version}`]));
  const tables = names.map((name) => new RowCache<string>(cluster, name, { load }));
  const errors: unknown[] = [];
  const refresher = new Refresher(cluster, tables, { onError: (error) => errors.push(error) });
  await refresher.start();
  await Promise.all(
    tables.flatMap((rows) => ['1', '2'].map((id) => rows.schedule(id, { everyMs: 3_600_000 }))),
  );
  const newest = async (): Promise<boolean> => {
    const rows = await Promise.all(tables.map((table) => table.getMany(['1', '2'])));
    return rows.every(
      (found) => found.get('1') === `1 version ${version}` && found.get('2') === `2 version ${version}`,
    );
  };
  await until('all rows', newest);
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);

  const key = 'mortise:cache:{table 0}:due';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', key), other);
  version = 2;
  await Promise.all(tables.flatMap((rows) => ['1', '2'].map((id) => rows.refresh(id))));
  await until('the new rows', newest, 10_000);
  await refresher.stop();
  expect(errors).toEqual([]);
});
