/** The work of Redis for the console: commands that read a whole collection, and the longest one. */
import type { Redis } from 'ioredis';

/** They look at all members of a key, or at all keys. Scripts call none of them: their commands are counted here, too. */
const WHOLE = new Set([
  'keys',
  'smembers',
  'hgetall',
  'hkeys',
  'hvals',
  'sort',
  'lpos',
  'sunion',
  'sinter',
  'sdiff',
]);
/** Commands that take longer are noted, µs. */
const NOTED_MICROS = 500;

export async function forgetCommands(redis: Redis): Promise<void> {
  await redis.config('SET', 'slowlog-log-slower-than', NOTED_MICROS);
  await redis.config('RESETSTAT');
  await redis.slowlog('RESET');
}

export interface CommandFigures {
  /** Calls of commands that read a whole collection. */
  readonly wholes: number;
  /** At least half a ms, since shorter ones are not noted. */
  readonly longestMs: number;
}

export async function commandFigures(redis: Redis): Promise<CommandFigures> {
  const info = await redis.info('commandstats');
  const calls = Array.from(info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm), ([, name, count]) => ({
    name: name!.toLowerCase(),
    count: Number(count),
  }));
  const noted = (await redis.slowlog('GET', 1_000)) as [id: number, at: number, micros: number][];
  return {
    wholes: calls.filter(({ name }) => WHOLE.has(name)).reduce((sum, { count }) => sum + count, 0),
    longestMs: Math.max(NOTED_MICROS, ...noted.map(([, , micros]) => micros)) / 1_000,
  };
}
