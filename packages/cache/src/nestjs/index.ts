export type { CachedOptions, EvictsOptions } from './cached.js';
export { Cached, Evicts } from './cached.js';
export { Caches } from './caches.js';
export type {
  CachesFeature,
  CachesModuleOptions,
  CachesOptionsFactory,
  RefresherFeature,
} from './caches.module.js';
export { CachesModule } from './caches.module.js';
export {
  getCachesToken,
  getCacheToken,
  getRefresherToken,
  getRowCacheToken,
  InjectCache,
  InjectCaches,
  InjectRefresher,
  InjectRowCache,
} from './tokens.js';
