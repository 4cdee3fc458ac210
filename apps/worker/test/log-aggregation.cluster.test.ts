/** On a real cluster each day is in a slot of its own. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DailyAggregates } from '@mortise/api/aggregates';
import { startCluster } from '@mortise/redis-server';
import { disconnect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

import { LogAggregator, parseRangeCsv } from '../src/log-aggregation/index.js';
import { blocksOf, CSV, day, line, MemoryFile } from './log-files.js';

let servers: Awaited<ReturnType<typeof startCluster>>;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 0 });
  cluster = new Cluster(servers.startupNodes);
}, 30_000);
afterAll(async () => {
  disconnect(cluster);
  await servers.stop();
});

test('a week of files is counted', async () => {
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  const days = [0, 1, 2, 3, 4, 5, 6].map(day);
  const text = days.map((on) => line('8.8.8.8', on).repeat(20)).join('');
  const files = ['a', 'b', 'a'].map((id) => new MemoryFile(id, text));
  await new LogAggregator(cluster, table, { prefix, concurrency: 1 }).run(Readable.from(files));
  expect(files.map(({ isDone }) => isDone)).toEqual([true, true, true]);
  const aggregates = new DailyAggregates(cluster, { prefix });
  for (const on of days) {
    expect(await aggregates.top('region', on)).toEqual({
      day: on,
      dimension: 'region',
      total: 40,
      places: 1,
      items: [{ country: 'US', region: 'California', count: 40 }],
    });
  }
});
