import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SqliteSource } from '@mortise/cache/sqlite';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import { closed, freshFile } from './sql.databases.js';
import { feedOf, MANY_ITEMS, watch } from './sql.feed.js';

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

test('a feed marks rows on all shards, and hands over to the next one', async () => {
  const { path, database } = freshFile(`create table items (id integer primary key, name text not null);
    with recursive n(x) as (select 1 union all select x + 1 from n limit ${MANY_ITEMS})
    insert into items select x, 'item ' || x from n;`);
  const source = closed(new SqliteSource({ path, table: 'items' }));
  await source.installOutbox();
  const { rows, feed, has, errors } = await watch(cluster, source, { leaseMs: 600_000 });
  const next = feedOf(cluster, source, rows, errors);
  await next.start();

  database.exec(`update items set name = 'new ' || id`);
  for (let id = 1; id <= MANY_ITEMS; id += 1) await has(String(id), `new ${id}`);
  await feed.stop();
  await until('the next one to read', () => next.stats().isReading);
  database.exec(`update items set name = 'newer ' || id`);
  for (let id = 1; id <= MANY_ITEMS; id += 1) await has(String(id), `newer ${id}`);

  expect(feed.stats().refreshed + next.stats().refreshed).toBeGreaterThanOrEqual(2 * MANY_ITEMS);
  expect(errors).toEqual([]);
});
