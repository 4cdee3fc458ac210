import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { DailyAggregates, LogAggregator, parseRangeCsv } from '@mortise/messaging/log-aggregation';
import { freshPrefix, runCluster } from '@mortise/test-kit';
import { blocksOf, CSV, day, line, MemoryFile } from '../fixture/log-files.js';

const { cluster } = await runCluster({ replicasPerMaster: 0 });

test('a week of files is counted, with a slot for each day', async () => {
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
