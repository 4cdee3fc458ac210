export type { CachedOptions, EvictsOptions } from './cached.js';
export { Cached, Evicts } from './cached.js';
export { Caches } from './caches.js';
export type {
  CachesFeature,
  CachesModuleOptions,
  CachesOptionsFactory,
  ChangeFeedFeature,
  RefresherFeature,
} from './caches.module.js';
export { CachesModule } from './caches.module.js';
export {
  getCachesToken,
  getCacheToken,
  getChangeFeedToken,
  getRefresherToken,
  getRowCacheToken,
  InjectCache,
  InjectCaches,
  InjectChangeFeed,
  InjectRefresher,
  InjectRowCache,
} from './tokens.js';
