/**
 * Prefixy (prefixy.js of prefixy/prefixy, commit 846fa23), without the copy that it keeps in MongoDB: a sorted set of at most 50 for each
 * prefix of up to 15 characters, with negated scores, the rest forgotten. Two things are kinder than there: what `increment` reads for
 * all prefixes travels together, and it puts a name into a full set only if it isn't there, where the original tests for the
 * opposite.
 */
import type { Redis } from 'ioredis';
import type { Named } from '../data.js';
import type { BookKind } from '../kind.js';
import { BOOK_NAME, LIMIT } from '../kind.js';
import { inPipelines, sharedConnection } from './connection.js';

const BUCKET_LIMIT = 50;
const LAST = String(BUCKET_LIMIT - 1);

function keyOf(prefix: string): string {
  return `${BOOK_NAME}:${prefix}`;
}

function prefixesOf(completion: string, longest: number): string[] {
  const text = completion.slice(0, longest);
  return Array.from(text, (_, index) => text.slice(0, index + 1));
}

/** The best of each prefix, which is what stays when all were counted. */
function* loading(names: readonly Named[], longest: number): Generator<[string, ...(string | number)[]]> {
  const buckets = new Map<string, (string | number)[]>();
  for (const { name, score } of names) {
    for (const prefix of prefixesOf(name, longest)) {
      let bucket = buckets.get(prefix);
      if (!bucket) buckets.set(prefix, (bucket = []));
      if (bucket.length < 2 * BUCKET_LIMIT) bucket.push(-score, name);
    }
  }
  for (const [prefix, bucket] of buckets) yield ['ZADD', keyOf(prefix), ...bucket];
}

async function increment(conn: Redis, completion: string, longest: number): Promise<void> {
  const keys = prefixesOf(completion, longest).map(keyOf);
  const reading = conn.pipeline();
  for (const key of keys) {
    reading.zcount(key, '-inf', '+inf').zscore(key, completion).zrange(key, LAST, LAST, 'WITHSCORES');
  }
  const replies = (await reading.exec())!.map(([, reply]) => reply);
  const writing = conn.pipeline();
  for (const [index, key] of keys.entries()) {
    const [count, score, last] = replies.slice(3 * index, 3 * index + 3) as [number, string | null, string[]];
    if (count >= BUCKET_LIMIT && score === null) {
      writing.zremrangebyrank(key, LAST, -1).zadd(key, Number(last[1]) - 1, completion);
    } else {
      writing.zincrby(key, -1, completion);
    }
  }
  await writing.exec();
}

function kind(name: string, longest: number): BookKind {
  return {
    name,
    version: '',
    verbs: ['complete', 'boost'],
    order: 'score',
    connect: (url) => {
      const conn = sharedConnection(url);
      return {
        load: (names) => inPipelines(conn, loading(names, longest)),
        callers: (count) =>
          Array.from({ length: count }, () => ({
            complete: (text) => conn.zrange(keyOf(text.slice(0, longest)), '0', String(LIMIT - 1)),
            boost: (completion) => increment(conn, completion, longest),
          })),
      };
    },
  };
}

export const PREFIXY = kind("Prefixy's layout", 15);

/** With 15 it would take some GB for a million names. */
export const PREFIXY_6 = kind("Prefixy's layout, prefixes of up to 6", 6);
