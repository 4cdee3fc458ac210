/**
 * Memory before Redis, kept in step by its sync. It knows no stale values. With @qified/redis 0.10.1 the loss of a connection ends
 * the process, unless somebody listens to what the provider has inside.
 */
import type { EventEmitter } from 'node:events';
import KeyvRedis from '@keyv/redis';
import { RedisMessageProvider } from '@qified/redis';
import { Cacheable, CacheableMemory } from 'cacheable';
import { Keyv } from 'keyv';
import { versionOf } from '../../../version-of.js';
import type { Cached, CacheKind } from '../kind.js';
import { NEAR_ENTRIES } from '../kind.js';

function cacheable(what: string, hasNear: boolean): CacheKind {
  return {
    name: `cacheable${what}`,
    version: versionOf('cacheable'),
    connect: (url, { ttlMs }) => {
      const redis = new KeyvRedis(url);
      const cache = hasNear
        ? new Cacheable({
            primary: new Keyv({ store: new CacheableMemory({ lruSize: NEAR_ENTRIES }) }),
            secondary: redis,
            ttl: ttlMs,
            sync: { qified: provider(url) },
          })
        : new Cacheable({ primary: redis, ttl: ttlMs });
      cache.on('error', () => undefined);
      return Promise.resolve({
        getOrLoad: (key, load) => cache.getOrSet(key, load),
        get: (key) => cache.get<Cached>(key),
        set: (key, value) => cache.set(key, value),
      });
    },
  };
}

function provider(uri: string): RedisMessageProvider {
  const made = new RedisMessageProvider({ uri });
  const { pub, sub } = made as unknown as Record<'pub' | 'sub', EventEmitter>;
  for (const connection of [pub, sub]) connection.on('error', () => undefined);
  return made;
}

export const CACHEABLE = cacheable('', true);
export const CACHEABLE_SHARED = cacheable(', Redis only', false);
