/** The commands of the aggregation: scripts by name, without the commands in them. */
import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';

import { SEGMENT_MEMBERS } from '../src/log-aggregation/checkpoint-segments.js';
import { DailyCounts } from '../src/log-aggregation/daily-counts.js';
import { LogAggregator, parseRangeCsv } from '../src/log-aggregation/index.js';
import * as scripts from '../src/scripts.gen.js';
import { blocksOf, CSV, day, line, MemoryFile } from './log-files.js';

const redis = connect();

async function sentBy(prefix: string, action: () => Promise<unknown>): Promise<string[]> {
  const seen = await transcript(redis, { prefix, scripts }, action);
  const sent = seen.filter((words) => !words.startsWith('  '));
  return sent.map((words) =>
    words
      .split(' ')
      .slice(0, 2)
      .join(' ')
      .replace(/^hdel .*/, 'hdel'),
  );
}

/** The server knows the scripts. */
async function warm(): Promise<void> {
  const daily = new DailyCounts(redis, {
    prefix: freshPrefix(),
    keepMs: 86_400_000,
    markerMs: 86_400_000,
  });
  const checkpoint = { file: 'f', day: '2026-11-20', fromOffset: 0, toOffset: 1, lines: 0 };
  await daily.countedTo('f', '2026-11-20');
  await daily.begin('f', '2026-11-20');
  await daily.count({ ...checkpoint, segments: [Buffer.alloc(0), Buffer.alloc(0)] });
}

test('a file: one for the clock after each checkpoint, one for each day, one for each checkpoint and day', async () => {
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  await warm();
  const lines = line('8.8.8.8').repeat(20) + line('8.8.8.8', day(1)).repeat(20);
  const file = new MemoryFile('a', lines, line('8.8.8.8').length * 10);
  const aggregator = new LogAggregator(redis, table, {
    prefix,
    checkpointBytes: line('8.8.8.8').length * 10,
  });
  expect(await sentBy(prefix, () => aggregator.count(file))).toEqual([
    'time',
    'evalsha daily.resume',
    'evalsha daily.count',
    'time',
    'evalsha daily.count',
    'time',
    'evalsha daily.resume',
    'evalsha daily.count',
    'time',
    'evalsha daily.count',
  ]);
});

test('a checkpoint of three segments: one for each, and one more for each but the first', async () => {
  const prefix = freshPrefix();
  await warm();
  const daily = new DailyCounts(redis, { prefix, keepMs: 86_400_000, markerMs: 86_400_000 });
  const segment = Buffer.alloc(0);
  const checkpoint = { file: 'f', day: '2026-11-20', fromOffset: 0, toOffset: 9, lines: 3 * SEGMENT_MEMBERS };
  expect(
    await sentBy(prefix, () => daily.count({ ...checkpoint, segments: [segment, segment, segment] })),
  ).toEqual([
    'evalsha daily.stage',
    'evalsha daily.stage',
    'evalsha daily.count',
    'evalsha daily.resume',
    'evalsha daily.resume',
  ]);
  expect(await sentBy(prefix, () => daily.countedTo('f', '2026-11-20'))).toEqual(['evalsha daily.resume']);
  // Repeated, it stages in vain, and changes nothing.
  expect(await daily.count({ ...checkpoint, segments: [segment] })).toBe(9);
  for (const on of ['2026-11-20', '2026-11-21']) {
    expect(await sentBy(prefix, () => daily.begin('f', on))).toEqual(['evalsha daily.begin']);
  }
  expect(await sentBy(prefix, () => daily.forget('f'))).toEqual([
    'smembers aggregates:{file:f}:days',
    'evalsha daily.resume',
    'evalsha daily.resume',
    'hdel',
    'hdel',
    'unlink aggregates:{file:f}:days',
    'zrem aggregates:{done}:files',
  ]);
});

test('a checkpoint costs Redis two scripts at most for a segment, each of a thousand members', async () => {
  const prefix = freshPrefix();
  await warm();
  const daily = new DailyCounts(redis, { prefix, keepMs: 86_400_000, markerMs: 86_400_000 });
  const item = (index: number): Buffer => {
    const member = `US/R/C${index}`;
    const head = Buffer.alloc(7);
    head.writeUInt8(3, 0);
    head.writeUInt32BE(1, 1);
    head.writeUInt16BE(member.length, 5);
    return Buffer.concat([head, Buffer.from(member)]);
  };
  const segment = Buffer.concat(Array.from({ length: SEGMENT_MEMBERS }, (_, index) => item(index)));
  const checkpoint = { file: 'f', day: '2026-11-20', fromOffset: 0, toOffset: 9, lines: SEGMENT_MEMBERS };
  const seen = await transcript(redis, { prefix, scripts }, () =>
    daily.count({ ...checkpoint, segments: [segment] }),
  );
  const called = new Map<string, number>();
  for (const words of seen.filter((text) => text.startsWith('  '))) {
    const [command = ''] = words.trim().split(' ');
    called.set(command, (called.get(command) ?? 0) + 1);
  }
  expect(Object.fromEntries(called)).toEqual({
    hget: 1,
    llen: 2,
    zincrby: SEGMENT_MEMBERS,
    incrby: 1,
    hset: 1,
    pexpire: 5,
  });
});
