/**
 * Two levels and a bus, as its documentation recommends for several processes; `grace` is its way to serve stale values. It comes with
 * ioredis 5.
 */
import { BentoCache, bentostore } from 'bentocache';
import { memoryDriver } from 'bentocache/drivers/memory';
import { redisBusDriver, redisDriver } from 'bentocache/drivers/redis';
import { versionOf } from '../../../version-of.js';
import type { CacheKind } from '../kind.js';
import { NEAR_ENTRIES } from '../kind.js';

function bentocache(what: string, hasNear: boolean): CacheKind {
  return {
    name: `BentoCache${what}`,
    version: versionOf('bentocache'),
    connect: (url, { ttlMs, staleMs }) => {
      const { hostname, port } = new URL(url);
      const connection = { host: hostname, port: Number(port) };
      const redis = redisDriver({ connection });
      const store = hasNear
        ? bentostore()
            .useL1Layer(memoryDriver({ maxItems: NEAR_ENTRIES }))
            .useL2Layer(redis)
            .useBus(redisBusDriver({ connection }))
        : bentostore().useL2Layer(redis);
      const cache = new BentoCache({
        default: 'items',
        stores: { items: store },
        ttl: ttlMs,
        ...(staleMs > 0 && { grace: staleMs }),
      });
      return Promise.resolve({
        getOrLoad: (key, load) => cache.getOrSet({ key, factory: load }),
        get: (key) => cache.get({ key }),
        set: (key, value) => cache.set({ key, value }),
      });
    },
  };
}

export const BENTOCACHE = bentocache('', true);
export const BENTOCACHE_SHARED = bentocache(', Redis only', false);
