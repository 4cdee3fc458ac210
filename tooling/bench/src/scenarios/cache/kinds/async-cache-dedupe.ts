/** One function for each kind of value, in Redis or in memory: it has no two tiers. It is always read by the function. */
import { createCache } from 'async-cache-dedupe';
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { Cached, CacheKind, Load } from '../kind.js';
import { NEAR_ENTRIES } from '../kind.js';

function asyncCacheDedupe(what: string, isInMemory: boolean): CacheKind {
  return {
    name: `async-cache-dedupe${what}`,
    version: versionOf('async-cache-dedupe'),
    connect: (url, { ttlMs, staleMs }) => {
      const loads = new Map<string, Load>();
      const cache = createCache({
        ttl: ttlMs / 1000,
        stale: staleMs / 1000,
        storage: isInMemory
          ? { type: 'memory', options: { size: NEAR_ENTRIES } }
          : { type: 'redis', options: { client: new Redis(url) } },
      }).define('item', (key: string) => loads.get(key)!());
      const read = (key: string): Promise<Cached> => cache.item(key);
      return Promise.resolve({
        getOrLoad: (key, load) => {
          loads.set(key, load);
          return read(key);
        },
        get: read,
        // It stores loaded values only: it has no other way to store something under the key of a call.
        set: async (key, value) => {
          loads.set(key, () => Promise.resolve(value));
          await cache.clear('item', key);
          return read(key);
        },
      });
    },
  };
}

export const ASYNC_CACHE_DEDUPE = asyncCacheDedupe('', false);
export const ASYNC_CACHE_DEDUPE_MEMORY = asyncCacheDedupe(', memory', true);
