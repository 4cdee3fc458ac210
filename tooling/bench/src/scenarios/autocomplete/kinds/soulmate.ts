/**
 * Soulmate 1.1 (lib/soulmate/loader.rb and matcher.rb of seatgeek/soulmate, commit 0f5a621), command for command: a sorted set of ids for each
 * prefix of each word, a set of all prefixes, the items as JSON in a hash. A query is answered from the intersection of the sets of
 * its words, which is stored for ten minutes. With `min_complete` 1 and without stop words, so that it answers each query.
 */
import type { Redis } from 'ioredis';
import type { Named } from '../data.js';
import type { BookKind } from '../kind.js';
import { BOOK_NAME, LIMIT } from '../kind.js';
import { inPipelines, sharedConnection } from './connection.js';

const BASE = `soulmate-index:${BOOK_NAME}`;
const DATABASE = `soulmate-data:${BOOK_NAME}`;
const CACHE = `soulmate-cache:${BOOK_NAME}`;
const CACHED_SECONDS = 600;
/** Members of one ZADD when loading. */
const AT_ONCE = 500;

interface Item {
  readonly id: string;
  readonly term: string;
  readonly score: number;
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} ]/gu, '')
    .trim()
    .split(' ');
}

function prefixesFor(phrase: string): Set<string> {
  return new Set(wordsOf(phrase).flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))));
}

/** As `Loader.add` of each item leaves it, with one command for many members. */
function* loading(names: readonly Named[]): Generator<[string, ...(string | number)[]]> {
  const members = new Map<string, (string | number)[]>();
  for (const { name, score } of names) {
    yield ['HSET', DATABASE, name, JSON.stringify({ id: name, term: name, score } satisfies Item)];
    for (const prefix of prefixesFor(name)) {
      let list = members.get(prefix);
      if (!list) members.set(prefix, (list = []));
      list.push(score, name);
    }
  }
  for (const [prefix, list] of members) {
    yield ['SADD', BASE, prefix];
    for (let at = 0; at < list.length; at += 2 * AT_ONCE) {
      yield ['ZADD', `${BASE}:${prefix}`, ...list.slice(at, at + 2 * AT_ONCE)];
    }
  }
}

async function matchesForTerm(conn: Redis, term: string): Promise<string[]> {
  const words = wordsOf(term).toSorted();
  const cacheKey = `${CACHE}:${words.join('|')}`;
  if ((await conn.exists(cacheKey)) === 0) {
    await conn.zinterstore(
      cacheKey,
      words.length,
      words.map((word) => `${BASE}:${word}`),
    );
    await conn.expire(cacheKey, CACHED_SECONDS);
  }
  const ids = await conn.zrevrange(cacheKey, 0, LIMIT - 1);
  if (ids.length === 0) return [];
  const results = await conn.hmget(DATABASE, ...ids);
  return results.filter((json) => json !== null).map((json) => (JSON.parse(json) as Item).term);
}

/** `Loader.add`: removes what is there of this id, then adds it. The score is known to whoever adds. */
async function add(conn: Redis, item: Item): Promise<void> {
  const known = await conn.hget(DATABASE, item.id);
  if (known !== null) {
    const { id, term } = JSON.parse(known) as Item;
    const removing = conn.pipeline().hdel(DATABASE, id);
    for (const prefix of prefixesFor(term)) removing.srem(BASE, prefix).zrem(`${BASE}:${prefix}`, id);
    await removing.exec();
  }
  const adding = conn.pipeline().hset(DATABASE, item.id, JSON.stringify(item));
  for (const prefix of prefixesFor(item.term)) {
    adding.sadd(BASE, prefix).zadd(`${BASE}:${prefix}`, item.score, item.id);
  }
  await adding.exec();
}

export const SOULMATE: BookKind = {
  name: "Soulmate's layout",
  version: '',
  verbs: ['complete', 'boost'],
  order: 'score',
  connect: (url) => {
    const conn = sharedConnection(url);
    const boosts = new Map<string, number>();
    return {
      load: (names) => inPipelines(conn, loading(names)),
      callers: (count) =>
        Array.from({ length: count }, () => ({
          complete: (text) => matchesForTerm(conn, text),
          boost: (name) => {
            const score = (boosts.get(name) ?? 0) + 1;
            boosts.set(name, score);
            return add(conn, { id: name, term: name, score });
          },
        })),
    };
  },
};
