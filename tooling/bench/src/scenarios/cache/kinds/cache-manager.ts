/** Memory before Redis, read by `wrap`; `refreshThreshold` is its way to load a value again before its end. */
import KeyvRedis from '@keyv/redis';
import { createCache } from 'cache-manager';
import { CacheableMemory } from 'cacheable';
import { Keyv } from 'keyv';
import { versionOf } from '../../../version-of.js';
import type { Cached, CacheKind } from '../kind.js';
import { NEAR_ENTRIES } from '../kind.js';

/** The part of its life in which a value is loaded again: that of the README's example. */
const REFRESHED = 0.3;

const NOTHING = new Error('nothing is cached');

function nothing(): never {
  throw NOTHING;
}

function cacheManager(what: string, hasNear: boolean): CacheKind {
  return {
    name: `cache-manager${what}`,
    version: versionOf('cache-manager'),
    connect: (url, { ttlMs, staleMs }) => {
      const memory = new Keyv({ store: new CacheableMemory({ ttl: ttlMs, lruSize: NEAR_ENTRIES }) });
      const redis = new Keyv({ store: new KeyvRedis(url) });
      for (const store of [memory, redis]) store.on('error', () => undefined);
      const cache = createCache({
        stores: hasNear ? [memory, redis] : [redis],
        ttl: ttlMs,
        ...(staleMs > 0 && { refreshThreshold: ttlMs * REFRESHED }),
      });
      return Promise.resolve({
        getOrLoad: (key, load) => cache.wrap(key, load),
        // Its `get` would not take into memory what it finds in Redis.
        get: (key) =>
          cache.wrap<Cached>(key, nothing).catch((error: unknown) => {
            if (error === NOTHING) return null;
            throw error;
          }),
        set: (key, value) => cache.set(key, value),
      });
    },
  };
}

export const CACHE_MANAGER = cacheManager('', true);
export const CACHE_MANAGER_SHARED = cacheManager(', Redis only', false);
