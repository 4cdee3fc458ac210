/** A week of logs, plain and gzip, shipped to three workers: the counts are those of the lines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { DailyAggregates } from '@mortise/api/aggregates';
import { FileSender } from '@mortise/messaging/files';
import { connect, freshPrefix, until } from '@mortise/test-kit';

import type { FileReport } from '../src/log-aggregation/index.js';
import { LogCollector, parseRangeCsv } from '../src/log-aggregation/index.js';
import { Game } from './game.js';
import { blocksOf, CSV, day, line } from './log-files.js';

const IPS = ['8.8.8.8', '1.0.0.1', '1.0.1.1', '9.9.9.9', '2001:db8::5', '7.7.7.7', 'nobody'];
const WEEK = [0, 1, 2, 3, 4, 5, 6];

test('three workers share the files of a channel', async () => {
  const redis = connect();
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  const receivers = ['worker-0', 'worker-1', 'worker-2'];
  const sender = new FileSender(redis, 'logs', {
    receivers,
    prefix,
    chunkBytes: 4_096,
    windowBytes: 65_536,
    budgetBytes: 262_144,
  });
  const reports: FileReport[] = [];
  const errors: unknown[] = [];
  const collecting = receivers.map((receiver, index) =>
    new LogCollector(redis, 'logs', receiver, table, {
      prefix,
      checkpointBytes: 16_384,
      share: { index, of: 3 },
      onReport: (report) => reports.push(report),
      onError: (error) => errors.push(error),
    }).collect(),
  );
  const expected: Record<string, number> = {};
  for (const ago of WEEK) {
    const lines = Array.from({ length: 2_000 }, (_, index) => IPS[(index * (ago + 3)) % 7]!);
    for (const ip of lines) if (ip === '8.8.8.8') expected[day(ago)] = (expected[day(ago)] ?? 0) + 1;
    const text = lines.map((ip) => line(ip, day(ago))).join('');
    const name = `access-${day(ago)}.log${ago % 2 === 0 ? '.gz' : ''}`;
    await sender.send(Readable.from([ago % 2 === 0 ? gzipSync(text) : Buffer.from(text)]), { name });
  }
  await sender.end();
  await Promise.all(collecting);
  expect(errors).toEqual([]);
  expect(reports.length).toBe(7);
  expect(reports.reduce((sum, { lines }) => sum + lines, 0)).toBe(
    7 * 2_000 - reports.reduce((sum, { malformed }) => sum + malformed, 0),
  );
  const aggregates = new DailyAggregates(redis, { prefix });
  for (const ago of WEEK) {
    const { items } = await aggregates.top('city', day(ago));
    expect(items).toContainEqual({
      country: 'US',
      region: 'California',
      city: 'Mountain View',
      count: expected[day(ago)],
    });
  }
});

test('a channel is lost and created again: its files are counted under any numbers and names', async () => {
  const redis = connect();
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  const text = line('8.8.8.8').repeat(100);
  for (const round of [1, 2, 3]) {
    const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
    const sent = await sender.send(Readable.from([text]), { name: 'access.log' });
    expect(sent.number).toBe(1);
    await sender.end();
    const reports: FileReport[] = [];
    const onReport = (report: FileReport): number => reports.push(report);
    await new LogCollector(redis, 'logs', 'worker', table, { prefix, onReport }).collect();
    expect(reports).toMatchObject([{ lines: 100, repeated: 0 }]);
    const { total } = await new DailyAggregates(redis, { prefix }).top('country', day());
    expect(total).toBe(100 * round);
    // As if the minute were over for which a channel is known to have ended.
    await redis.unlink(await redis.keys(`${prefix}:messaging:*`));
  }
});

test('a file with the number of a lost file is counted fully', async () => {
  const redis = connect();
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  const stop = new AbortController();
  const reports: FileReport[] = [];
  const collector = new LogCollector(redis, 'logs', 'worker', table, {
    prefix,
    onReport: (report) => reports.push(report),
  });
  const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
  const collected = async (files: number): Promise<void> => {
    const collecting = collector.collect({ signal: stop.signal });
    collecting.catch(() => undefined);
    await until('the report', () => reports.length === files);
  };
  await sender.send(Readable.from([line('8.8.8.8')]), { name: 'before.log' });
  await collected(1);
  const channel = `${prefix}:messaging:{logs}:`;
  const keys = await redis.keys(`${channel}*`);
  const values = await Promise.all(keys.map(async (key) => redis.dumpBuffer(key)));
  const sent = await sender.send(Readable.from([line('8.8.8.8').repeat(100)]), { name: 'access.log' });
  await until('the report', () => reports.length === 2);
  await redis.del(await redis.keys(`${channel}*`));
  await Promise.all(keys.map(async (key, index) => redis.restore(key, 0, values[index]!)));
  const next = await sender.send(Readable.from([line('8.8.8.8').repeat(70)]), { name: 'access.log' });
  expect([next.epoch, next.number]).toEqual([sent.epoch, sent.number]);
  await until('the report', () => reports.length === 3);
  stop.abort();
  expect(reports).toMatchObject([{ lines: 1 }, { lines: 100 }, { lines: 70, repeated: 0 }]);
  const { total } = await new DailyAggregates(redis, { prefix }).top('country', day());
  expect(total).toBe(171);
});

test('the worker app counts the files of the channel that it is given', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-'));
  const ranges = join(directory, 'ranges.csv');
  writeFileSync(ranges, CSV);
  await using game = new Game();
  const { redis, prefix } = game;
  const worker = await game.startWorker({ ACCESS_LOG_CHANNEL: 'logs', GEO_RANGES: ranges });
  rmSync(directory, { recursive: true });
  const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
  await sender.send(Readable.from([Buffer.from(`${line('8.8.8.8').repeat(3)}none\n`)]), { name: 'a.log' });
  await sender.end();
  const said = await until('the report', async () =>
    worker.lines.find(({ msg }) => msg === 'access log counted'),
  );
  expect(said).toMatchObject({
    file: expect.stringMatching(/^[\w-]{12}:a\.log$/),
    lines: 3,
    malformed: 1,
    samples: [{ text: 'none' }],
  });
  const { items } = await new DailyAggregates(redis, { prefix }).top('country', day());
  expect(items).toEqual([{ country: 'US', count: 3 }]);
  await worker.close();
});
