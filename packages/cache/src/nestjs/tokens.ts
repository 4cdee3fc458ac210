import { featureTokenOf, injectorOf, rootTokenOf } from '@mortise/redis/nestjs';
import { Caches } from './caches.js';

/** The token of a module's `Caches`: the class itself, unless the module has a name. */
export const getCachesToken = rootTokenOf('Caches', Caches);
/** The token of a cache of `CachesModule.forFeature`, for example to replace it in a test. */
export const getCacheToken = featureTokenOf('Caches', 'cache');
/** The token of a row cache of `CachesModule.forFeature`. */
export const getRowCacheToken = featureTokenOf('Caches', 'row cache');
/** The token of a refresher of `CachesModule.forFeature`. */
export const getRefresherToken = featureTokenOf('Caches', 'refresher');
/** The token of a change feed of `CachesModule.forFeature`. */
export const getChangeFeedToken = featureTokenOf('Caches', 'change feed');

/** Injects the `Caches` of a module. For a module without a name, the type `Caches` is enough. */
export const InjectCaches = injectorOf(getCachesToken);
/** Injects a cache of `CachesModule.forFeature`. */
export const InjectCache = injectorOf(getCacheToken);
/** Injects a row cache of `CachesModule.forFeature`. */
export const InjectRowCache = injectorOf(getRowCacheToken);
/** Injects a refresher of `CachesModule.forFeature`. */
export const InjectRefresher = injectorOf(getRefresherToken);
/** Injects a change feed of `CachesModule.forFeature`. */
export const InjectChangeFeed = injectorOf(getChangeFeedToken);
