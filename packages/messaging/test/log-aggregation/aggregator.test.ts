/** Files of logs become daily aggregates, each line once, whatever happens in between. */
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DailyAggregates, dayKeys, DIMENSIONS } from '@mortise/messaging/log-aggregation';
import type { RedisClient } from '@mortise/redis';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix, Recording, until } from '@mortise/test-kit';
import fc from 'fast-check';
import type { Redis } from 'ioredis';

import { SEGMENT_MEMBERS } from '../../src/log-aggregation/checkpoint-segments.js';
import { DailyCounts } from '../../src/log-aggregation/daily-counts.js';
import type { LogAggregatorOptions } from '../../src/log-aggregation/index.js';
import { LogAggregator, parseRangeCsv } from '../../src/log-aggregation/index.js';
import { blocksOf, CSV, day, line, MemoryFile } from '../fixture/log-files.js';

const table = await parseRangeCsv(blocksOf(CSV));
const redis: Redis = connect();
let prefix: string;

beforeEach(() => {
  prefix = freshPrefix();
});
afterEach(async () => {
  expect(await keysOfPrefix('staged')).toEqual([]);
  expect(await keysOfPrefix('pending')).toEqual([]);
});

async function keysOfPrefix(segment = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of redis.scanStream({
    match: `${prefix}:aggregates:*}:${segment}*`,
    count: 1_000,
  })) {
    keys.push(...(found as string[]));
  }
  return keys.toSorted();
}

function aggregator(options: LogAggregatorOptions = {}): LogAggregator {
  return new LogAggregator(redis, table, { prefix, onError: () => undefined, ...options });
}

/** The counts of a day as the API shows them: `{ total, 'US/California': 3 … }`. */
async function counted(on = day()): Promise<Record<string, number>> {
  const aggregates = new DailyAggregates(redis, { prefix });
  const all: Record<string, number> = {};
  for (const dimension of DIMENSIONS) {
    const { total, items } = await aggregates.top(dimension, on, { limit: 200 });
    all['total'] = total;
    for (const { country, region, city, count } of items) {
      all[[country, region, city].filter((segment) => segment !== undefined).join('/')] = count;
    }
  }
  return all;
}

const US = { US: 1, 'US/California': 1, 'US/California/Mountain View': 1 };

function times(counts: Record<string, number>, factor: number): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, factor * count]));
}

describe('LogAggregator', () => {
  test('counts the lines of a file by day and place, acks and reports', async () => {
    const text = `${line('8.8.8.8')}${line('1.0.1.1')}${line('8.8.8.9', day(1))}what is this?\n${line('7.7.7.7').trimEnd()}`;
    const file = new MemoryFile('a', text);
    const reports: unknown[] = [];
    await aggregator().run(Readable.from([file]), { onReport: (report) => reports.push(report) });
    expect(await counted()).toEqual({
      ...US,
      CN: 1,
      'CN/Fujian': 1,
      'CN/Fujian/Fuzhou': 1,
      ZZ: 1,
      'ZZ/': 1,
      'ZZ//': 1,
      total: 3,
    });
    expect(await counted(day(1))).toEqual({ ...US, total: 1 });
    expect([file.isDone, file.acks, file.failure]).toEqual([true, [text.length], undefined]);
    expect(reports).toEqual([
      {
        id: 'a',
        bytes: text.length,
        lines: 4,
        repeated: 0,
        malformed: 1,
        malformedOf: { address: 0, date: 0, fields: 1, length: 0, time: 0, window: 0 },
        samples: [{ reason: 'fields', offset: text.indexOf('what'), text: 'what is this?' }],
      },
    ]);
  });

  test('D6: two files of a day add up, and each has counters of its own', async () => {
    const files = ['a', 'b', 'c'].map((id) => new MemoryFile(id, line('8.8.8.8').repeat(5)));
    await aggregator().run(Readable.from(files));
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 15));
  });

  test('a file that comes again is not counted again', async () => {
    const text = line('8.8.8.8').repeat(10).trimEnd();
    for (const expected of [
      { lines: 10, repeated: 0 },
      { lines: 0, repeated: 10 },
    ]) {
      expect(await aggregator().count(new MemoryFile('a', text))).toMatchObject(expected);
      expect(await counted()).toEqual(times({ ...US, total: 1 }, 10));
    }
  });

  test('flushes after so many bytes, and acks the end of a line', async () => {
    const file = new MemoryFile('a', line('8.8.8.8').repeat(100), 77);
    await aggregator({ checkpointBytes: 1_000 }).count(file);
    const length = line('8.8.8.8').length;
    expect(file.acks.length).toBeGreaterThan(2);
    expect(file.acks.map((offset) => offset % length)).toEqual(file.acks.map(() => 0));
    expect(file.acks).toEqual(file.acks.toSorted((a, b) => a - b));
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 100));
  });

  test('flushes during a pause, so a file that grows slowly is counted', async () => {
    let end = (): void => undefined;
    const file = new MemoryFile('a', '');
    file.blocks = async function* blocks() {
      yield Buffer.from(`${line('8.8.8.8')}8.8.8.8 `);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      yield Buffer.from(line('8.8.8.8').slice('8.8.8.8 '.length));
    };
    const counting = aggregator({ checkpointMs: 20 }).count(file);
    await until('the first line', async () => (await counted())['total'] === 1);
    await until('its ack', async () => file.acks.length > 0);
    expect(file.acks).toEqual([line('8.8.8.8').length]);
    end();
    expect(await counting).toMatchObject({ lines: 2 });
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 2));
  });

  test('memory is bounded: too many places or days are flushed early', async () => {
    const days = [0, 1, 2, 3, 4];
    const ips = ['8.8.8.8', '1.0.0.1', '1.0.1.1', '9.9.9.9', '7.7.7.7'];
    const lines = Array.from({ length: 300 }, (_, index) =>
      line(ips[(index * 7) % 5]!, day(days[(index * 3 + (index >> 3)) % 5])),
    );
    const file = new MemoryFile('a', lines.join(''), 500);
    const report = await aggregator({ maxKeys: 2, maxDays: 2 }).count(file);
    expect(report).toMatchObject({ lines: 300, repeated: 0, malformed: 0 });
    for (const ago of days) {
      const expected = lines.filter((text) => text.includes(day(ago)));
      const found = await counted(day(ago));
      expect(found['total']).toBe(expected.length);
      expect(found['US/California/Mountain View'] ?? 0).toBe(
        expected.filter((text) => text.startsWith('8.')).length,
      );
    }
    expect(file.acks.length).toBeGreaterThan(50);
  });

  test('days that are not kept any more, and those to come, are malformed', async () => {
    const text = [line('8.8.8.8', day(12)), line('8.8.8.8', day(-3)), line('8.8.8.8', day(9))].join('');
    const report = await aggregator({ keepMs: 10 * 86_400_000 }).count(new MemoryFile('a', text));
    expect(report).toMatchObject({ lines: 1, malformedOf: { window: 2 } });
    expect((await keysOfPrefix('total')).length).toBe(1);
  });

  test('telemetry counts the lines by what became of them', async () => {
    const telemetry = new Recording();
    const text = line('8.8.8.8').repeat(3) + line('8.8.8.8', day(12)) + 'none\n';
    const options = { telemetry, keepMs: 10 * 86_400_000 };
    await aggregator(options).count(new MemoryFile('a', text));
    await aggregator(options).count(new MemoryFile('a', text));
    const lines: Record<string, number> = {};
    for (const { name, value, attributes } of telemetry.counted) {
      const outcome = `${name} ${String(attributes['mortise.messaging.lines'])}`;
      lines[outcome] = (lines[outcome] ?? 0) + value;
    }
    expect(lines).toEqual({
      'mortise.messaging.log_lines counted': 3,
      'mortise.messaging.log_lines repeated': 3,
      'mortise.messaging.log_lines window': 2,
      'mortise.messaging.log_lines fields': 2,
    });
  });

  test('maxAgeMs decides which days are counted, whatever the time for which they are kept', async () => {
    const text = [line('8.8.8.8', day(3_000)), line('8.8.8.8', day(12)), line('8.8.8.8', day(0))].join('');
    const keepMs = 10 * 86_400_000;
    const old = await aggregator({ keepMs, maxAgeMs: 36_500 * 86_400_000 }).count(new MemoryFile('a', text));
    expect(old).toMatchObject({ lines: 3, malformed: 0 });
    for (const key of await keysOfPrefix('total')) expect(await redis.pttl(key)).toBeLessThanOrEqual(keepMs);
    const recent = await aggregator({ keepMs, maxAgeMs: 0 }).count(new MemoryFile('b', text));
    expect(recent).toMatchObject({ lines: 1, malformedOf: { window: 2 } });
  });

  test('a file that breaks off has failed; the others go on', async () => {
    const bad = new MemoryFile('bad', '');
    const error = new Error('the file is cut off');
    bad.blocks = async function* blocks() {
      yield Buffer.from(line('8.8.8.8'));
      throw error;
    };
    const good = new MemoryFile('good', line('1.0.1.1'));
    const errors: unknown[] = [];
    await aggregator({ onError: (each) => errors.push(each) }).run(Readable.from([bad, good]));
    expect([bad.isDone, bad.failure, good.isDone, errors]).toEqual([false, error, true, [error]]);
    expect((await counted())['CN']).toBe(1);
  });

  test('an error of the source of files ends it, and leaves its files to the next worker', async () => {
    // Never at its end.
    const open = new MemoryFile('open', '');
    open.blocks = async function* blocks() {
      for (;;) {
        yield Buffer.from(line('8.8.8.8'));
        await new Promise(setImmediate);
      }
    };
    const other = new MemoryFile('other', line('1.0.1.1'));
    const failure = new Error('no more files');
    async function* files(): AsyncGenerator<MemoryFile> {
      yield open;
      yield other;
      await until('the other file', async () => other.isDone);
      throw failure;
    }
    await expect(aggregator().run(files())).rejects.toBe(failure);
    expect([open.isDone, open.failure]).toEqual([false, undefined]);
  });

  test('a file that is still being written does not hold up the others', async () => {
    let end = (): void => undefined;
    const open = new MemoryFile('open', '');
    open.blocks = async function* blocks() {
      yield Buffer.from(line('8.8.8.8'));
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    const other = new MemoryFile('other', line('1.0.1.1'));
    const running = aggregator().run(Readable.from([open, other]));
    await until('the other file', async () => other.isDone);
    expect(open.isDone).toBe(false);
    end();
    await running;
    expect(open.isDone).toBe(true);
  });

  test('after a stop the file is neither done nor failed, and another worker continues', async () => {
    const text = line('8.8.8.8').repeat(50);
    const stop = new AbortController();
    const file = new MemoryFile('a', text);
    const ack = file.ack.bind(file);
    file.ack = async (offset) => {
      await ack(offset);
      if (file.acks.length === 3) stop.abort();
    };
    await aggregator({ checkpointBytes: 100 }).run(Readable.from([file]), { signal: stop.signal });
    expect([file.isDone, file.failure, file.offset < text.length]).toEqual([false, undefined, true]);
    await aggregator().run(Readable.from([file]));
    expect(file.isDone).toBe(true);
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 50));
  });

  test.each([
    [{ checkpointBytes: 0 }, RangeError],
    [{ maxKeys: Number.NaN }, RangeError],
    [{ maxDays: 1.5 }, RangeError],
    [{ keepMs: Infinity }, RangeError],
    [{ markerMs: 1 }, RangeError],
    [{ maxAgeMs: -1 }, RangeError],
    [{ maxAge: 5 } as never, TypeError],
    [{ telemetry: 5 as never }, TypeError],
    [{ keepMs: 86_400_000, markerMs: 86_400_001 }, RangeError],
    [{ concurrency: '4' as never }, TypeError],
    [{ prefix: '' }, RangeError],
  ])('refuses %j', (options, type) => {
    expect(() => aggregator(options)).toThrow(type);
  });
});

describe('each line once', () => {
  /** A reader of the file dies at this ack, after it has flushed and before or after the ack is executed. */
  test('a worker dies at any ack, and the next one makes other checkpoints', async () => {
    const ips = ['8.8.8.8', '1.0.0.1', '1.0.1.1', '9.9.9.9', '2001:db8::5', '7.7.7.7'];
    const some = fc.tuple(fc.constantFrom(...ips), fc.integer({ min: 0, max: 3 }));
    const lives = fc.record({
      checkpointBytes: fc.integer({ min: 1, max: 700 }),
      blockBytes: fc.integer({ min: 1, max: 300 }),
      maxKeys: fc.integer({ min: 1, max: 9 }),
      acksUntilDeath: fc.integer({ min: 1, max: 4 }),
      isAckLost: fc.boolean(),
      /** A new reader of gzip begins at the start. */
      isFromStart: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(some, { minLength: 1, maxLength: 60 }),
        fc.array(lives, { maxLength: 4 }),
        fc.boolean(),
        async (entries, all, isEnded) => {
          prefix = freshPrefix();
          const text = entries.map(([ip, ago]) => line(ip, day(ago))).join('');
          const whole = isEnded ? text : text.trimEnd();
          let offset = 0;
          for (const { blockBytes, acksUntilDeath, isAckLost, isFromStart, ...options } of all) {
            const file = new MemoryFile('a', whole, blockBytes);
            file.offset = isFromStart ? 0 : offset;
            let acks = 0;
            const ack = file.ack.bind(file);
            file.ack = async (at) => {
              acks += 1;
              if (acks < acksUntilDeath || !isAckLost) await ack(at);
              // A refusal isn't asked for again, so the worker ends here.
              if (acks === acksUntilDeath) throw new TypeError('it dies');
            };
            await aggregator(options).run(Readable.from([file]));
            offset = Math.max(offset, file.acks.at(-1) ?? 0);
          }
          const last = new MemoryFile('a', whole);
          last.offset = offset;
          await aggregator().run(Readable.from([last]));
          expect(last.isDone).toBe(true);
          for (const ago of [0, 1, 2, 3]) {
            const ofDay = entries.filter((entry) => entry[1] === ago);
            const found = await counted(day(ago));
            const of = (ip: string): number => ofDay.filter((entry) => entry[0] === ip).length;
            expect([found['total'], found['US'] ?? 0, found['DE'] ?? 0, found['ZZ//'] ?? 0]).toEqual([
              ofDay.length,
              of('8.8.8.8') + of('9.9.9.9'),
              of('2001:db8::5'),
              of('7.7.7.7'),
            ]);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test('a gzip file that is read again from its start', async () => {
    const text = line('8.8.8.8').repeat(1_000);
    const gz = gzipSync(text);
    const file = (): MemoryFile => {
      const made = new MemoryFile('a', '');
      made.blocks = () => Readable.from([gz]).pipe(createGunzip());
      return made;
    };
    const first = file();
    first.ack = async (offset) => {
      first.acks.push(offset);
      if (first.acks.length === 2) throw new TypeError('it dies');
    };
    await aggregator({ checkpointBytes: 1_000 }).run(Readable.from([first]));
    expect(first.failure).toBeInstanceOf(TypeError);
    const report = await aggregator().count(file());
    expect(report.repeated).toBeGreaterThan(0);
    expect(report.lines + report.repeated).toBe(1_000);
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 1_000));
  });

  test('two workers with the same file: one of them may fail, and nothing is counted twice', async () => {
    const text = line('8.8.8.8').repeat(400);
    const files = [0, 1].map((index) => new MemoryFile('a', text, 90 + 50 * index));
    await Promise.all(
      files.map((file, index) =>
        aggregator({ checkpointBytes: 300 + 400 * index }).run(Readable.from([file])),
      ),
    );
    const codes = files.map(({ failure }) => (failure as { code?: string } | undefined)?.code);
    expect(codes.filter((code) => code !== undefined && code !== 'ERR_CHECKPOINT_CONFLICT')).toEqual([]);
    await aggregator().run(Readable.from([new MemoryFile('a', text)]));
    expect(await counted()).toEqual(times({ ...US, total: 1 }, 400));
  });

  function segment(member: string, lines: number): Buffer {
    const bytes = Buffer.alloc(7 + member.length);
    bytes.writeUInt8(3, 0);
    bytes.writeUInt32BE(lines, 1);
    bytes.writeUInt16BE(member.length, 5);
    bytes.write(member, 7);
    return bytes;
  }
  const segments = ['a', 'b', 'c', 'd'].map((member, index) => segment(`XX//${member}`, index + 1));
  const checkpoint = { file: 'f', day: day(), fromOffset: 0, toOffset: 100, lines: 10, segments };
  const kept = { keepMs: 86_400_000, markerMs: 86_400_000 };

  /** A worker dies when the checkpoint is counted; three of its segments wait. */
  async function countAndDie(): Promise<void> {
    const dying = new DailyCounts(redis, { prefix, ...kept });
    dying.countedTo = () => Promise.reject(new Error('it dies'));
    await dying.begin('f', day());
    await expect(dying.count(checkpoint)).rejects.toThrow('it dies');
    expect(await redis.zcard(dayKeys(prefix, day()).city)).toBe(1);
    expect(await redis.llen(dayKeys(prefix, day()).pendingOf('f'))).toBe(3);
  }

  test('a checkpoint of many segments: the removal of the marks adds the waiting ones', async () => {
    await countAndDie();
    const daily = new DailyCounts(redis, { prefix, ...kept });
    await daily.forget('f');
    expect(await counted()).toEqual({ 'XX//a': 1, 'XX//b': 2, 'XX//c': 3, 'XX//d': 4, total: 10 });
    expect(await daily.countedTo('f', day())).toBe(0);
  });

  test('a checkpoint of many segments: the next worker adds the waiting ones', async () => {
    await countAndDie();
    const daily = new DailyCounts(redis, { prefix, ...kept });
    // Another checkpoint, or the same one, or only a look: all add what waits, once.
    const next = { ...checkpoint, fromOffset: 100, toOffset: 200, segments: [segment('XX//a', 5)], lines: 5 };
    expect(await daily.count(next)).toBe(200);
    expect(await daily.count(checkpoint)).toBe(200);
    expect(await daily.countedTo('f', day())).toBe(200);
    expect(await counted()).toEqual({ 'XX//a': 6, 'XX//b': 2, 'XX//c': 3, 'XX//d': 4, total: 15 });
    const conflict = { ...checkpoint, fromOffset: 150, toOffset: 300 };
    await expect(daily.count(conflict)).rejects.toMatchObject({
      code: 'ERR_CHECKPOINT_CONFLICT',
      countedTo: 200,
      message: expect.stringContaining(
        `file "f" is counted up to 200 for ${day()}, which is not where the checkpoint 150 to 300 begins`,
      ),
    });
    expect((await counted())['total']).toBe(15);
    await redis.del(await keysOfPrefix('staged'));
  });

  test('as many members as make many segments', async () => {
    const cities = 2 * SEGMENT_MEMBERS + 10;
    const csv = Array.from(
      { length: cities },
      (_, index) =>
        `5.${index >> 8}.${index & 255}.0,5.${index >> 8}.${index & 255}.255,FR,R${index % 50},C${index}`,
    ).join('\n');
    const many = new LogAggregator(redis, await parseRangeCsv(blocksOf(csv, 65_536)), { prefix });
    const text = Array.from({ length: cities }, (_, index) =>
      line(`5.${index >> 8}.${index & 255}.1`).repeat((index % 3) + 1),
    ).join('');
    const { lines } = await many.count(new MemoryFile('a', text, 65_536));
    const keys = dayKeys(prefix, day());
    expect(await redis.zcard(keys.city)).toBe(cities);
    expect(await redis.zcard(keys.region)).toBe(50);
    expect(await redis.zscore(keys.country, 'FR')).toBe(String(lines));
    expect(await redis.zscore(keys.city, 'FR/R7/C7')).toBe('2');
    expect(await redis.get(keys.total)).toBe(String(lines));
  });
});

describe('keys', () => {
  test('are those of the table, expire as it says, and lie in one slot for a day', async () => {
    const hostile = ['}x', '{}', '%', '\u{1f600}', 'a\nb', '\0', '\ud800', '\ud801'];
    const options = { keepMs: 20 * 86_400_000, markerMs: 86_400_000 };
    await aggregator(options).run(Readable.from(hostile.map((id) => new MemoryFile(id, line('8.8.8.8')))));
    const stem = `${prefix}:aggregates:{daily:${day()}}:`;
    const keys = await keysOfPrefix();
    expect(keys).toEqual(['city', 'country', 'files', 'region', 'total'].map((segment) => stem + segment));
    for (const key of keys) {
      const days = (await redis.pttl(key)) / 86_400_000;
      expect([key, Math.ceil(days)]).toEqual([key, key.endsWith(':files') ? 1 : 20]);
    }
    const tooLong = aggregator().count(new MemoryFile('x'.repeat(1_025), ''));
    await expect(tooLong).rejects.toThrow(RangeError);
    expect(await redis.hlen(`${stem}files`)).toBe(hostile.length);
    expect((await counted())['total']).toBe(hostile.length);
  });
});

/** A log that is followed for days: the days that are counted move on with the clock of the server. */
const DAY_S = 86_400;

/** A server whose clock is late by so many days. */
function late(client: RedisClient, daysLate: () => number): RedisClient {
  return new Proxy(client, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (property !== 'call') return typeof value === 'function' ? value.bind(target) : value;
      return async (command: string, args: []) => {
        const reply = await target.call(command, args);
        if (command !== 'time') return reply;
        const [seconds, rest] = reply as [string, string];
        return [String(Number(seconds) - daysLate() * DAY_S), rest];
      };
    },
  });
}

test.each([
  { what: 'after each checkpoint', options: { checkpointBytes: 1 } },
  { what: 'after a silence, in which there was none', options: { checkpointMs: 10 } },
])('lines of later days are counted: the days are looked at again $what', async ({ options }) => {
  const waiting = connect();
  let daysLate = 4;
  class FollowedFile extends MemoryFile {
    override async *blocks(): AsyncGenerator<Uint8Array> {
      for (; daysLate >= 0; daysLate -= 1) {
        yield Buffer.from(line('8.8.8.8', day(daysLate)).repeat(10));
        // A pause by the clock of the server, longer than `checkpointMs`.
        await waiting.blpop('test:nothing', 0.05);
      }
    }
  }
  const following = new LogAggregator(
    late(redis, () => daysLate),
    table,
    { prefix, ...options },
  );
  const report = await following.count(new FollowedFile('a', ''));
  expect(report).toMatchObject({ lines: 50, malformed: 0 });
  const daily = new DailyAggregates(redis, { prefix });
  for (const ago of [4, 3, 2, 1, 0]) expect((await daily.top('country', day(ago))).total).toBe(10);
});

/** Also between scripts and their replies. */
test('the counts are those of the lines, to the unit, when the connection breaks again and again', async () => {
  const proxy = await startProxy({ port: Number(new URL(process.env['MORTISE_TEST_REDIS']!).port) });
  const errors: unknown[] = [];
  const disturbed = new LogAggregator(connect(proxy.url), table, {
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
  await disturbed.run(Readable.from(files));
  expect(files.map(({ isDone, failure }) => [isDone, failure])).toEqual(files.map(() => [true, undefined]));
  const { total, items } = await new DailyAggregates(redis, { prefix }).top('country', day());
  expect([total, items]).toEqual([10_000, [{ country: 'US', count: 10_000 }]]);
  expect(acks).toBeGreaterThan(100);
  await restored;
  await proxy.stop();
});
