import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { Cached, CacheKind } from '../kind.js';
import { NEAR_ENTRIES } from '../kind.js';

const NAME = '@mortise/cache';

function mortise(what: string, hasNear: boolean, isByLoad = false): CacheKind {
  return {
    name: `${NAME}${what}`,
    version: versionOf(NAME),
    connect: (url, { ttlMs, staleMs, isExact = false }) => {
      const near = hasNear ? { near: { entries: NEAR_ENTRIES } } : {};
      const exact = isExact ? { jitter: 0 } : {};
      const redis = new Redis(url).on('error', () => undefined);
      const options = { ttlMs, staleMs, ...near, ...exact };
      // It reports only that Redis is away, as planned.
      const cache = new Cache<Cached>(redis, 'items', { ...options, onError: () => undefined });
      return Promise.resolve({
        getOrLoad: (key, load) => cache.getOrLoad(key, load),
        get: isByLoad ? (key) => cache.getOrLoad(key, unexpected) : (key) => cache.get(key),
        set: (key, value) => cache.set(key, value),
        peek: (key) => cache.peek(key),
      });
    },
  };
}

function unexpected(): never {
  throw new Error('everything is cached');
}

export const MORTISE = mortise('', false);
/** Where it is read by `getOrLoad`. */
export const MORTISE_BY_LOAD = mortise(', getOrLoad', false, true);
export const MORTISE_NEAR = mortise(', near tier', true);
export const MORTISE_NEAR_BY_LOAD = mortise(', near tier, getOrLoad', true, true);
