/** A cache handler for Next.js, shared by all servers of an application: `@mortise/cache/next`. */
export { CacheUnavailableError, CacheValueError } from '../errors.js';
export { nextCacheHandler } from './next-cache-handler.js';
export type {
  NextCacheContext,
  NextCacheHandler,
  NextCacheHandlerClass,
  NextCacheOptions,
  NextCacheValue,
} from './options.js';
