/** Several workers count the files of one channel. Some of them stop or die. Also tested: keys left by a file, and the commands sent. */
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { DailyAggregates, dayKeys } from '@mortise/messaging/log-aggregation';
import { FileSender } from '@mortise/messaging/files';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

import { SEGMENT_MEMBERS } from '../../src/log-aggregation/checkpoint-segments.js';
import { DailyCounts } from '../../src/log-aggregation/daily-counts.js';
import type { FileReport } from '../../src/log-aggregation/index.js';
import { LogAggregator, LogCollector, parseRangeCsv } from '../../src/log-aggregation/index.js';
import * as scripts from '../../src/scripts.gen.js';
import { blocksOf, CSV, day, line, MemoryFile } from '../fixture/log-files.js';

const redis = connect();
const table = await parseRangeCsv(blocksOf(CSV));

const IPS = ['8.8.8.8', '1.0.0.1', '1.0.1.1', '9.9.9.9', '2001:db8::5', '7.7.7.7', 'nobody'];
const WEEK = [0, 1, 2, 3, 4, 5, 6];

test('three workers share the files of a channel', async () => {
  const prefix = freshPrefix();
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
  const prefix = freshPrefix();
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
  const prefix = freshPrefix();
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

const TEXT = line('8.8.8.8') + line('8.8.8.8', day(1));

class OnceFile extends MemoryFile {
  readonly isOnce = true;
}

async function marks(prefix: string): Promise<number> {
  return (await redis.hlen(dayKeys(prefix, day()).files)) + (await redis.hlen(dayKeys(prefix, day(1)).files));
}

/** The keys that aren't counts. */
async function others(prefix: string): Promise<string[]> {
  const keys = await redis.keys(`${prefix}:aggregates:*`);
  return keys.filter((key) => !/:(?:country|region|city|total)$/.test(key));
}

/** It is forgotten when it is done and never comes again, whatever becomes of who has counted it. */
describe('how far a file is counted is forgotten', () => {
  test('by a worker that waits for the next file', async () => {
    const prefix = freshPrefix();
    const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
    const collector = new LogCollector(redis, 'logs', 'worker', table, { prefix, forgetMs: 100 });
    collector.start();
    for (const name of ['x'.repeat(1_000), 'b']) await sender.send(Readable.from([TEXT]), { name });
    await sender.received();
    await until('nothing but counts', async () => (await others(prefix)).length === 0);
    expect(await marks(prefix)).toBe(0);
    await collector.stop();
  });

  test('by a worker that stops, at once', async () => {
    const prefix = freshPrefix();
    const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
    const collector = new LogCollector(redis, 'logs', 'worker', table, { prefix });
    collector.start();
    await sender.send(Readable.from([TEXT]), { name: 'a' });
    await sender.received();
    expect(await marks(prefix)).toBe(2);
    await collector.stop();
    expect(await others(prefix)).toEqual([]);
  });

  test('by another worker, after the worker that counted it was killed', async () => {
    const prefix = freshPrefix();
    // The aggregator is never stopped.
    await new LogAggregator(redis, table, { prefix }).run(Readable.from([new OnceFile('a', TEXT)]));
    expect(await marks(prefix)).toBe(2);
    const next = new LogAggregator(redis, table, { prefix, forgetMs: 0 });
    await next.run(Readable.from([]));
    await until('nothing but counts', async () => (await others(prefix)).length === 0);
    expect(await marks(prefix)).toBe(0);
    await next.stop();
  });

  test('also in days whose lines only an earlier worker has read', async () => {
    const prefix = freshPrefix();
    const aggregator = new LogAggregator(redis, table, { prefix, forgetMs: 0 });
    const broken = new OnceFile('a', line('8.8.8.8', day(1)));
    await aggregator.count(broken);
    const rest = new OnceFile('a', TEXT);
    rest.offset = line('8.8.8.8').length;
    await aggregator.run(Readable.from([rest]));
    await until('nothing but counts', async () => (await others(prefix)).length === 0);
    expect(await marks(prefix)).toBe(0);
    await aggregator.stop();
  });

  test('also of a file that is given up', async () => {
    const prefix = freshPrefix();
    const aggregator = new LogAggregator(redis, table, { prefix, forgetMs: 0, onError: () => undefined });
    class BrokenFile extends OnceFile {
      override async *blocks(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(TEXT);
        throw new Error('the content is bad');
      }
      isGivenUp(): boolean {
        return true;
      }
    }
    const options = { checkpointBytes: 1 };
    const counting = new LogAggregator(redis, table, { prefix, ...options, onError: () => undefined });
    await counting.run(Readable.from([new BrokenFile('a', '')]));
    expect(await marks(prefix)).toBe(2);
    await aggregator.run(Readable.from([]));
    await until('nothing but counts', async () => (await others(prefix)).length === 0);
    expect(await marks(prefix)).toBe(0);
    await Promise.all([aggregator.stop(), counting.stop()]);
  });

  test('no more once the client is closed, without an error', async () => {
    const client = connect();
    const errors: unknown[] = [];
    const aggregator = new LogAggregator(client, table, {
      prefix: freshPrefix(),
      forgetMs: 50,
      onError: (error) => errors.push(error),
    });
    await aggregator.run(Readable.from([new OnceFile('a', TEXT)]));
    client.disconnect();
    await redis.blpop('test:nothing', 0.2);
    expect(errors).toEqual([]);
  });

  test('not of a file that may come again', async () => {
    const prefix = freshPrefix();
    const aggregator = new LogAggregator(redis, table, { prefix, forgetMs: 0 });
    await aggregator.run(Readable.from([new MemoryFile('m', TEXT)]));
    await aggregator.stop();
    expect(await marks(prefix)).toBe(2);
  });
});

/** A client of a process that stands still from the first command on of which `isHalt` says so, until it goes on. */
function halting(isHalt: (args: readonly unknown[]) => boolean): {
  readonly client: Redis;
  readonly isHalted: Promise<void>;
  readonly goOn: () => void;
} {
  let halt!: () => void;
  let goOn!: () => void;
  let isStanding = false;
  const isHalted = new Promise<void>((resolve) => (halt = resolve));
  const isGoing = new Promise<void>((resolve) => (goOn = resolve));
  const client = new Proxy(redis, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name !== 'call' && name !== 'callBuffer') return method;
      return async (...args: unknown[]) => {
        if (isHalt(args.flat())) {
          isStanding = true;
          halt();
        }
        if (isStanding) await isGoing;
        return method(...args);
      };
    },
  });
  return { client, isHalted, goOn };
}

async function counted(prefix: string): Promise<number> {
  return Number(await redis.get(dayKeys(prefix, day()).total));
}

describe.each([
  // Of all scripts with the keys of a day, only one has seven keys.
  {
    step: 'the first checkpoint',
    isHalt: (args: readonly unknown[]) => args[2] === 7 && String(args[3]).includes('daily:'),
  },
  {
    step: 'the first day',
    isHalt: (args: readonly unknown[]) => args.some((arg) => String(arg).endsWith('}:days')),
  },
  {
    step: 'noting that it is done',
    isHalt: (args: readonly unknown[]) =>
      args.some((arg) => String(arg).endsWith('{done}:files')) && args.length > 6,
  },
])('a worker that stood still before $step', ({ isHalt }) => {
  const options = { leaseMs: 200, checkpointMs: 50, onError: () => undefined };

  test('counts nothing and leaves nothing after another worker has counted the file and stopped', async () => {
    const prefix = freshPrefix();
    const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
    const { client, isHalted, goOn } = halting(isHalt);
    const late = new LogCollector(client, 'logs', 'worker', table, { prefix, ...options });
    late.start();
    await sender.send(Buffer.from(line('8.8.8.8').repeat(10)), { name: 'a' });
    await isHalted;
    const next = new LogCollector(redis, 'logs', 'worker', table, { prefix, ...options });
    next.start();
    await sender.received();
    await next.stop();
    expect(await others(prefix)).toEqual([]);
    goOn();
    await sender.send(Buffer.from(line('8.8.8.8')), { name: 'b' });
    await sender.received();
    await late.stop();
    expect(await counted(prefix)).toBe(11);
    expect(await others(prefix)).toEqual([]);
  });

  test('renews its lease and counts if there was no other worker', async () => {
    const prefix = freshPrefix();
    const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
    const { client, isHalted, goOn } = halting(isHalt);
    const late = new LogCollector(client, 'logs', 'worker', table, { prefix, ...options });
    late.start();
    await sender.send(Buffer.from(line('8.8.8.8').repeat(10)), { name: 'a' });
    await isHalted;
    const leases = `${prefix}:messaging:{logs}:file-receivers`;
    await until('the end of its lease', async () => {
      const [[seconds, micros], end] = await Promise.all([redis.time(), redis.zscore(leases, 'worker')]);
      return Number(seconds) * 1_000 + Number(micros) / 1_000 > Number(end);
    });
    goOn();
    await sender.received();
    await late.stop();
    expect(await counted(prefix)).toBe(10);
    expect(await others(prefix)).toEqual([]);
  });
});

test('a lease that ends at each renewal fails with an error, without endless renewals', async () => {
  const prefix = freshPrefix();
  const daily = new DailyCounts(redis, { prefix, keepMs: 60_000, markerMs: 60_000 });
  let renewals = 0;
  const lease = {
    until: 1,
    leaseMs: 100,
    renew: () => {
      renewals += 1;
      return Promise.resolve();
    },
  };
  const checkpoint = { file: 'f', day: day(), fromOffset: 0, toOffset: 1, lines: 1, segments: [], lease };
  const tooShort = { code: 'ERR_LEASE_TOO_SHORT' };
  await expect(daily.count(checkpoint)).rejects.toMatchObject(tooShort);
  await expect(daily.begin('f', day(), lease)).rejects.toMatchObject(tooShort);
  await expect(daily.done('f', lease)).rejects.toMatchObject(tooShort);
  expect(renewals).toBe(3);
  expect(await others(prefix)).toEqual([]);
});

/** The commands: scripts by name, without the commands in them. */
const kept = { keepMs: 86_400_000, markerMs: 86_400_000 };

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
  const daily = new DailyCounts(redis, { prefix: freshPrefix(), ...kept });
  const checkpoint = { file: 'f', day: '2026-11-20', fromOffset: 0, toOffset: 1, lines: 0 };
  await daily.countedTo('f', '2026-11-20');
  await daily.begin('f', '2026-11-20');
  await daily.count({ ...checkpoint, segments: [Buffer.alloc(0), Buffer.alloc(0)] });
}

test('a file: one for the clock after each checkpoint, one for each day, one for each checkpoint and day', async () => {
  const prefix = freshPrefix();
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
  const daily = new DailyCounts(redis, { prefix, ...kept });
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
  const daily = new DailyCounts(redis, { prefix, ...kept });
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

test.each([
  [{ concurrency: 2 }, TypeError],
  [{ share: { index: 2, of: 2 } }, RangeError],
  [{ share: 1 }, TypeError],
  [{ leaseMs: 0 }, RangeError],
  [{ onReport: 1 }, TypeError],
])('the options %j are refused', (options, type) => {
  expect(() => new LogCollector(redis, 'logs', 'worker', table, options as never)).toThrow(type);
});
