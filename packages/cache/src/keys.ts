/**
 * ## Cache
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:cache:{<cache>}:value:<key>` | STRING: the entry | `set`, loads | at the end of its `ttlMs` and `staleMs`, or by `delete`, `expire` |
 * | `<prefix>:cache:{<cache>}:lease:<key>` | STRING: token, its request, channels to wake; or a dash during a pause | loads | with the load, or `leaseMs` after its process died; `retryMs` after a failed load |
 * | `<prefix>:cache:{<cache>}:tag:<tag>` | STRING: its version | `invalidateTag`, loads with tags | an hour after an invalidation, or twice the life of its longest entry; ten `leaseMs` after the first load |
 * | `<prefix>:cache:{<cache>}:seq` | STRING: the latest token | loads, `set`, `invalidateTag` | a day after the last of them |
 * | `<prefix>:cache:{<cache>}:changes` | STRING: number of the latest invalidation message, on Cluster only | each change | a day after the last of them |
 * | `<prefix>:cache:{<cache>}:changed` | channel of near tiers, on Cluster only | each change | holds nothing |
 * | `<prefix>:cache:{<cache>}:next-page:<key>` | STRING: a page or an answer to `fetch` | a cache handler of Next.js | at the end of its `ttlMs`, or before by its `expire` |
 * | `<prefix>:cache:{<cache>}:next-tag:<tag>` | STRING: the tokens of its revalidations | `revalidateTag` of such a handler | 366 days after the last of them |
 * | `<prefix>:cache:{<cache>}:next-seq` | STRING: the latest token | `revalidateTag` of such a handler | 366 days after the last of them |
 * | `<prefix>:cache:{<cache>}:loaded:<process>` | channel of the waiting readers of one process | loads, `set`, `delete` | holds nothing |
 *
 * With `shards`, each shard but the first has the tag `{<cache>%%<shard>}`.
 */
import { decodeName, KeySpace } from '@mortise/redis';

/** The meaning of a Redis key. */
export interface Named {
  readonly part: 'value' | 'tag';
  readonly name: string;
}

/** The keys of one shard, which share one slot. */
export interface CacheKeys {
  readonly seq: string;
  readonly changes: string;
  readonly nearChannel: string;
  readonly value: (key: string) => string;
  readonly lease: (key: string) => string;
  readonly tag: (tag: string) => string;
  /** The wake-up channel of a process. */
  readonly loaded: (process: string) => string;
}

export function cacheKeys(cache: string, prefix: string | undefined, shard: number): CacheKeys {
  const entity = new KeySpace('cache', prefix).entity(cache, 'cache', shard);
  return {
    seq: entity.key('seq'),
    changes: entity.key('changes'),
    nearChannel: entity.key('changed'),
    value: (key) => entity.key('value', key),
    lease: (key) => entity.key('lease', key),
    tag: (tag) => entity.key('tag', tag),
    loaded: (process) => entity.key('loaded', process),
  };
}

/** The keys of a cache handler of Next.js, which share one slot. */
export interface NextKeys {
  readonly seq: string;
  readonly page: (key: string) => string;
  readonly tag: (tag: string) => string;
}

export function nextKeys(cache: string, prefix: string | undefined): NextKeys {
  const entity = new KeySpace('cache', prefix).entity(cache);
  return {
    seq: entity.key('next-seq'),
    page: (key) => entity.key('next-page', key),
    tag: (tag) => entity.key('next-tag', tag),
  };
}

const NAMED = /\}:(value|tag):(.*)$/s;

/** The inverse of `value` and `tag`; undefined for other keys. */
export function namedBy(redisKey: string): Named | undefined {
  const [, part, name] = NAMED.exec(redisKey) ?? [];
  if (part === undefined || name === undefined) return undefined;
  return { part: part as Named['part'], name: decodeName(name) };
}
