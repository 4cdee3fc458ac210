/** The connection to Redis breaks again and again, also between scripts and their replies. */
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { DailyAggregates } from '@mortise/api/aggregates';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix } from '@mortise/test-kit';

import { LogAggregator, parseRangeCsv } from '../src/log-aggregation/index.js';
import { blocksOf, CSV, day, line, MemoryFile } from './log-files.js';

test('the counts are those of the lines, to the unit', async () => {
  const proxy = await startProxy({ port: Number(new URL(process.env['MORTISE_TEST_REDIS']!).port) });
  const prefix = freshPrefix();
  const redis = connect(proxy.url);
  const errors: unknown[] = [];
  const aggregator = new LogAggregator(redis, await parseRangeCsv(blocksOf(CSV)), {
    prefix,
    checkpointBytes: 2_000,
    onError: (error) => errors.push(error),
  });
  const files = ['a', 'b', 'c', 'd', 'e'].map((id) => new MemoryFile(id, line('8.8.8.8').repeat(2_000), 500));
  let acks = 0;
  let restored: Promise<void> | undefined;
  for (const file of files) {
    const ack = file.ack.bind(file);
    file.ack = async (offset) => {
      await ack(offset);
      acks += 1;
      if (acks % 10 === 0) proxy.cut();
      // Commands of this time are executed, and their replies are lost.
      if (acks % 10 === 5) {
        proxy.dropReplies();
        restored = wait(20).then(() => proxy.restore());
      }
    };
  }
  await aggregator.run(Readable.from(files));
  expect(files.map(({ isDone, failure }) => [isDone, failure])).toEqual(files.map(() => [true, undefined]));
  const { total, items } = await new DailyAggregates(connect(), { prefix }).top('country', day());
  expect([total, items]).toEqual([10_000, [{ country: 'US', count: 10_000 }]]);
  expect(acks).toBeGreaterThan(100);
  await restored;
  await proxy.stop();
}, 60_000);
