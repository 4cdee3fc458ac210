/** The engine and a real Redis get the same random commands. Their replies are the same, and so is what they keep. */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { RedisClient } from '../../src/index.js';
import { MemoryRedis } from '../../src/testing/index.js';
import { connect } from '../fixture/clients.js';
import { COMMAND_GROUPS } from '../fixture/random-commands.js';

const RUNS = 60;
const KEYS = ['{d}a', '{d}b', '{d}c'];

function memory(): MemoryRedis {
  return new MemoryRedis({ clock: 'system' });
}

/** An error counts by its first word. */
async function reply(client: RedisClient, [command, ...args]: readonly string[]): Promise<unknown> {
  try {
    return shown(await client.callBuffer(command!, args));
  } catch (error) {
    return `error ${(error as Error).message.split(' ')[0]!}`;
  }
}

function shown(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  return Array.isArray(value) ? value.map(shown) : value;
}

/** Redis has no order of sets, and of hashes only while they are small. */
const UNORDERED = new Set(['smembers', 'hgetall', 'hkeys', 'hvals', 'sscan', 'hscan', 'zscan']);

function comparable([command]: readonly string[], value: unknown): unknown {
  if (!UNORDERED.has(command!) || !value) return value;
  return JSON.stringify(value)
    .split('')
    .toSorted((a, b) => (a < b ? -1 : 1));
}

const STATE: readonly (readonly string[])[] = KEYS.flatMap((key) => [
  ['type', key],
  ['get', key],
  ['lrange', key, '0', '-1'],
  ['hgetall', key],
  ['smembers', key],
  ['zrange', key, '0', '-1', 'WITHSCORES'],
  ['xrange', key, '-', '+'],
]);

describe('random commands have the same replies, and leave the same state, in memory and in Redis', () => {
  test.each(Object.keys(COMMAND_GROUPS))('%s', async (group) => {
    const redis = connect();
    const commands = fc.array(COMMAND_GROUPS[group]!(KEYS), { minLength: 1, maxLength: 40 });
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        await redis.del(...KEYS);
        const own = memory();
        for (const command of [...list, ...STATE]) {
          const [real, emulated] = [await reply(redis, command), await reply(own, command)];
          const what = command.join(' ');
          expect([what, comparable(command, emulated)]).toEqual([what, comparable(command, real)]);
          compared += 1;
        }
      }),
      { numRuns: RUNS },
    );
    expect(compared).toBeGreaterThan(RUNS);
  });
});
