/** The read-through cache. Rows refreshed on schedule: `@mortise/cache/rows`. */
export type { Codec } from './codec.js';
export { CacheLoadError, CacheUnavailableError, CacheValueError } from './errors.js';
export type { CacheNamespace } from './read-through/cache.js';
export { Cache } from './read-through/cache.js';
export type { Loader } from './read-through/cache-view.js';
export type { CacheStats } from './read-through/core.js';
export type {
  CacheOptions,
  EntryOptions,
  LoadedEntry,
  LoadMany,
  LoadOptions,
  NearOptions,
} from './read-through/options.js';
export type { Telemetry } from '@mortise/redis';
