/**
 * Redis in Action, 6.1.2: `find_prefix_range` and `autocomplete_on_prefix` of python/ch06_listing_source.py (commit e31da83), command
 * for command: two sentinels around the prefix, WATCH, their ranks, and a transaction that removes them and reads what is between
 * them, again and again until nobody else has changed the names meanwhile.
 */
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import type { BookKind } from '../kind.js';
import { BOOK_NAME } from '../kind.js';
import { inPipelines, sharedConnection } from './connection.js';

const VALID_CHARACTERS = '`abcdefghijklmnopqrstuvwxyz{';
const MEMBERS = `members:${BOOK_NAME}`;

function findPrefixRange(prefix: string): [start: string, end: string] {
  const position = VALID_CHARACTERS.indexOf(prefix.at(-1)!);
  const suffix = VALID_CHARACTERS[(position || 1) - 1]!;
  return [`${prefix.slice(0, -1)}${suffix}{`, `${prefix}{`];
}

async function autocompleteOnPrefix(conn: Redis, prefix: string): Promise<string[]> {
  const identifier = randomUUID();
  const [start, end] = findPrefixRange(prefix).map((bound) => bound + identifier) as [string, string];
  await conn.zadd(MEMBERS, 0, start, 0, end);
  for (;;) {
    await conn.watch(MEMBERS);
    const startRank = (await conn.zrank(MEMBERS, start))!;
    const endRank = (await conn.zrank(MEMBERS, end))!;
    const last = Math.min(startRank + 9, endRank - 2);
    const replies = await conn
      .multi()
      .zrem(MEMBERS, start, end)
      .zrange(MEMBERS, String(startRank), String(last))
      .exec();
    if (replies === null) continue;
    const items = replies.at(-1)![1] as string[];
    return items.filter((item) => !item.includes('{'));
  }
}

export const BOOK: BookKind = {
  name: 'Redis in Action, 6.1.2',
  version: '',
  verbs: ['complete'],
  order: 'alphabet',
  connect: (url) => ({
    load: (names) =>
      inPipelines(
        sharedConnection(url),
        names.map(({ name }) => ['ZADD', MEMBERS, 0, name]),
      ),
    // WATCH belongs to a connection: each caller has one.
    callers: (count) =>
      Array.from({ length: count }, () => {
        const conn = new Redis(url);
        return { complete: (text) => autocompleteOnPrefix(conn, text) };
      }),
  }),
};
