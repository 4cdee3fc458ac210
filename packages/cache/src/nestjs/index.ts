export type { CachedOptions, EvictsOptions } from './cached.js';
export { Cached, Evicts } from './cached.js';
export type { CachesFeature, CachesModuleAsyncOptions, CachesModuleOptions } from './caches.module.js';
export { CachesModule } from './caches.module.js';
export { getCacheToken, InjectCache } from './tokens.js';
