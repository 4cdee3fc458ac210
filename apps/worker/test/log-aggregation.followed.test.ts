/** A log that is followed for days: the days that are counted move on with the clock of the server. */
import { expect, test } from '@jest/globals';
import { DailyAggregates } from '@mortise/api/aggregates';
import type { RedisClient } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';

import { LogAggregator, parseRangeCsv } from '../src/log-aggregation/index.js';
import { blocksOf, CSV, day, line, MemoryFile } from './log-files.js';

const DAY_S = 86_400;

/** A server whose clock is late by so many days. */
function late(redis: RedisClient, daysLate: () => number): RedisClient {
  return new Proxy(redis, {
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
  const redis = connect();
  const prefix = freshPrefix();
  const waiting = connect();
  let daysLate = 4;
  class FollowedFile extends MemoryFile {
    override async *blocks(): AsyncGenerator<Uint8Array> {
      for (; daysLate >= 0; daysLate -= 1) {
        yield Buffer.from(line('8.8.8.8', day(daysLate)).repeat(10));
        // Of the server; longer than `checkpointMs`.
        await waiting.blpop('nothing', 0.05);
      }
    }
  }
  const aggregator = new LogAggregator(
    late(redis, () => daysLate),
    await parseRangeCsv(blocksOf(CSV)),
    { prefix, ...options },
  );
  const report = await aggregator.count(new FollowedFile('a', ''));
  expect(report).toMatchObject({ lines: 50, malformed: 0 });
  const daily = new DailyAggregates(redis, { prefix });
  for (const ago of [4, 3, 2, 1, 0]) expect((await daily.top('country', day(ago))).total).toBe(10);
});
