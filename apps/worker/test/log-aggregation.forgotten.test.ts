/** How far a file is counted is forgotten when it is done and never comes again, whatever becomes of who has counted it. */
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { dayKeys } from '@mortise/api/aggregates';
import { FileSender } from '@mortise/messaging/files';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

import type { RangeTable } from '../src/log-aggregation/index.js';
import { DailyCounts } from '../src/log-aggregation/daily-counts.js';
import { LogAggregator, LogCollector, parseRangeCsv } from '../src/log-aggregation/index.js';
import { blocksOf, CSV, day, line, MemoryFile } from './log-files.js';

const redis = connect();
const TEXT = line('8.8.8.8') + line('8.8.8.8', day(1));
let table: RangeTable;
beforeAll(async () => {
  table = await parseRangeCsv(blocksOf(CSV));
});

class OnceFile extends MemoryFile {
  readonly isOnce = true;
}

async function marks(prefix: string): Promise<number> {
  return (await redis.hlen(dayKeys(prefix, day()).files)) + (await redis.hlen(dayKeys(prefix, day(1)).files));
}

/** That aren't counts. */
async function others(prefix: string): Promise<string[]> {
  const keys = await redis.keys(`${prefix}:aggregates:*`);
  return keys.filter((key) => !/:(?:country|region|city|total)$/.test(key));
}

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
  await redis.blpop('nothing', 0.2);
  expect(errors).toEqual([]);
});

test('not of a file that may come again', async () => {
  const prefix = freshPrefix();
  const aggregator = new LogAggregator(redis, table, { prefix, forgetMs: 0 });
  await aggregator.run(Readable.from([new MemoryFile('m', TEXT)]));
  await aggregator.stop();
  expect(await marks(prefix)).toBe(2);
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
  // Of the scripts with the keys of a day, one has seven.
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
