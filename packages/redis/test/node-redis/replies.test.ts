/** One table of commands: every client gives the replies of ioredis 6. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { CommandArgument, RedisClient } from '../../src/index.js';
import { connect } from '../fixture/clients.js';
import { NODE_REDIS, adapted } from '../fixture/node-redis.js';

const BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const tag = `{${randomUUID()}}`;
const key = (part: string): string => `test:${tag}:${part}`;

const WRITES: readonly [command: string, ...args: CommandArgument[]][] = [
  ['set', key('text'), 'grün'],
  ['set', key('bytes'), BYTES],
  ['set', key('empty'), ''],
  ['hset', key('hash'), '__proto__', 'x', 'f', BYTES],
  ['sadd', key('set'), 'a', 'b'],
  ['zadd', key('scores'), 1.5, 'a', 3, 'b', 'inf', 'c'],
  ['del', key('list')],
  ['rpush', key('list'), 1, 2.5, 'c'],
];

const READS: readonly [command: string, ...args: CommandArgument[]][] = [
  ['PING'],
  ['ping', 'hello'],
  ['echo', BYTES],
  ['get', key('text')],
  ['get', key('bytes')],
  ['get', key('empty')],
  ['get', key('nothing')],
  ['mget', key('text'), key('nothing')],
  ['exists', key('text')],
  ['lrange', key('list'), 0, -1],
  ['llen', key('list')],
  ['hgetall', key('hash')],
  ['hgetall', key('nothing')],
  ['hmget', key('hash'), 'f', 'g'],
  ['hscan', key('hash'), 0],
  ['smembers', key('set')],
  ['sismember', key('set'), 'a'],
  ['zscore', key('scores'), 'a'],
  ['zscore', key('scores'), 'nobody'],
  ['zmscore', key('scores'), 'a', 'c', 'nobody'],
  ['zrange', key('scores'), 0, -1],
  ['zrange', key('scores'), 0, -1, 'WITHSCORES'],
  ['zrangebyscore', key('scores'), 1, 2, 'WITHSCORES'],
  ['zrange', key('nothing'), 0, -1, 'WITHSCORES'],
  ['zincrby', key('scores'), 0, 'a'],
  ['zscan', key('scores'), 0],
  ['config', 'get', 'maxmemory'],
  ['eval', 'return { 1, "two", { 3, false }, {}, redis.status_reply("FINE") }', 0],
  ['eval', 'return ARGV', 1, key('text'), 12, 1.5, -0, 2 ** 53, BYTES],
  ['eval', 'redis.setresp(3) return { map = { a = 1 } }', 0],
  ['eval', 'redis.setresp(3) return { double = 1.5 }', 0],
];

const REFUSALS: readonly [command: string, ...args: CommandArgument[]][] = [
  ['llen', key('text')],
  ['evalsha', 'f'.repeat(40), 0],
  ['eval', 'return redis.error_reply("MINE what the script says")', 0],
  ['eval', 'return redis.error_reply("no code")', 0],
  ['eval', 'return nothing()', 0],
  ['get'],
  ['nonsense'],
];

/** The reply of a client: the value, or name and message of the error. */
async function reply(
  redis: RedisClient,
  how: 'call' | 'callBuffer',
  [command, ...args]: (typeof READS)[number],
) {
  try {
    return { value: await redis[how](command, args) };
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

/** RESP3 has doubles, of which node-redis keeps no bytes: they are strings also in `callBuffer`. */
function withoutBytesOfDoubles(all: unknown): unknown {
  return JSON.parse(
    JSON.stringify(all, (_, value: unknown) => {
      const { type, data } = (value ?? {}) as { type?: string; data?: number[] };
      const text = type === 'Buffer' ? Buffer.from(data!).toString() : '';
      return /^(?:inf|[\d.]+)$/.test(text) ? text : value;
    }),
  );
}

async function replies(redis: RedisClient, how: 'call' | 'callBuffer') {
  for (const [command, ...args] of WRITES) {
    await redis.call(command, args);
    await redis.call('expire', [args[0]!, 60]);
  }
  const all: unknown[] = [];
  for (const read of [...READS, ...REFUSALS]) all.push([read, await reply(redis, how, read)]);
  return withoutBytesOfDoubles(all);
}

describe.each(NODE_REDIS)('node-redis %s', (major) => {
  test.each(['call', 'callBuffer'] as const)('%s replies as that of ioredis', async (how) => {
    const expected = await replies(connect(), how);
    const { redis } = await adapted(major);
    expect(await replies(redis, how)).toEqual(expected);
  });

  test('errors of the server have the name ReplyError, in any length of a line', async () => {
    const { redis } = await adapted(major);
    const outcomes = await Promise.all(REFUSALS.map((refusal) => reply(redis, 'call', refusal)));
    expect(outcomes.map(({ name }) => name)).toEqual(REFUSALS.map(() => 'ReplyError'));
  });

  test('a pipeline has each outcome in its place', async () => {
    const { redis } = await adapted(major);
    await redis.call('set', [key('text'), 'x', 'EX', 60]);
    const pipeline = (redis as ReturnType<typeof connect> & RedisClient).pipeline();
    pipeline.call('get', key('text'));
    pipeline.call('llen', key('text'));
    pipeline.call('get', key('nothing'));
    expect(await pipeline.exec()).toEqual([
      [null, 'x'],
      [
        expect.objectContaining({ name: 'ReplyError', message: expect.stringMatching(/^WRONGTYPE/) }),
        undefined,
      ],
      [null, null],
    ]);
  });

  test('a type mapping of the caller changes nothing', async () => {
    const { redis } = await adapted(major, undefined, {
      commandOptions: { typeMapping: { 36: Buffer, 58: String } },
    });
    await redis.call('set', [key('text'), 'x', 'EX', 60]);
    expect(await redis.call('get', [key('text')])).toBe('x');
    expect(await redis.call('exists', [key('text')])).toBe(1);
  });
});
