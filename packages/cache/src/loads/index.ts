/** Loads by clients that cannot use `Cache`, such as those of an HTTP API: `@mortise/cache/loads`. */
export { ClientClosedError } from '@mortise/redis';
export type { Codec } from '../codec.js';
export { CacheUnavailableError, CacheValueError } from '../errors.js';
export { LoadLeases } from './load-leases.js';
export type {
  LoadLease,
  LoadLeasesOptions,
  LoadReply,
  LoadRequestOptions,
  LoadStoreOptions,
} from './options.js';
