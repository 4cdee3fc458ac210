import type { CacheKind } from '../kind.js';
import { ASYNC_CACHE_DEDUPE, ASYNC_CACHE_DEDUPE_MEMORY } from './async-cache-dedupe.js';
import { BARE, BARE_PIPELINED, BARE_UNPARSED } from './bare.js';
import { BENTOCACHE, BENTOCACHE_SHARED } from './bentocache.js';
import { CACHE_MANAGER, CACHE_MANAGER_SHARED } from './cache-manager.js';
import { CACHEABLE, CACHEABLE_SHARED } from './cacheable.js';
import { MORTISE, MORTISE_BY_LOAD, MORTISE_NEAR, MORTISE_NEAR_BY_LOAD } from './mortise.js';

export {
  ASYNC_CACHE_DEDUPE,
  ASYNC_CACHE_DEDUPE_MEMORY,
  BARE,
  BARE_PIPELINED,
  BARE_UNPARSED,
  BENTOCACHE,
  BENTOCACHE_SHARED,
  CACHE_MANAGER,
  CACHE_MANAGER_SHARED,
  CACHEABLE,
  CACHEABLE_SHARED,
  MORTISE,
  MORTISE_BY_LOAD,
  MORTISE_NEAR,
  MORTISE_NEAR_BY_LOAD,
};

const ALL: readonly CacheKind[] = [
  MORTISE,
  MORTISE_BY_LOAD,
  MORTISE_NEAR,
  MORTISE_NEAR_BY_LOAD,
  BENTOCACHE,
  BENTOCACHE_SHARED,
  CACHEABLE,
  CACHEABLE_SHARED,
  CACHE_MANAGER,
  CACHE_MANAGER_SHARED,
  ASYNC_CACHE_DEDUPE,
  ASYNC_CACHE_DEDUPE_MEMORY,
  BARE,
  BARE_PIPELINED,
  BARE_UNPARSED,
];

export function cacheKind(name: string): CacheKind {
  return ALL.find((kind) => kind.name === name)!;
}
