export {
  CacheLoadResultError,
  CacheLoadTimeoutError,
  CacheRefreshError,
  CacheUnavailableError,
  CacheValueError,
  CacheValueTooLargeError,
  LoadFailedError,
  LoadTimeoutError,
  RowTooLargeError,
  SqlClosedError,
  SqlIdentifierError,
  SqlOutboxError,
  SqlSchemaError,
  SqlTimeoutError,
} from './errors.js';
export type {
  LoadRows,
  RefresherOptions,
  RowCacheOptions,
  ScheduleAllOptions,
  ScheduleOptions,
} from './options.js';
export { maxQueriesOf } from './rows/max-queries.js';
export type { RefresherStats } from './rows/refresher.js';
export { Refresher } from './rows/refresher.js';
export type { RowCacheStats } from './rows/row-cache.js';
export { RowCache } from './rows/row-cache.js';
export type { RowState } from './rows/row-state.js';
export type { CacheNamespace } from './read-through/cache.js';
export { Cache } from './read-through/cache.js';
export type { Loader } from './read-through/cache-view.js';
export type { Codec } from './read-through/codec.js';
export type { CacheStats } from './read-through/core.js';
export type {
  CacheOptions,
  EntryOptions,
  LoadMany,
  LoadOptions,
  NearOptions,
} from './read-through/options.js';
export type { ChangeFeedOptions, ChangeFeedStats, ChangeSource } from './sql/change-feed.js';
export { ChangeFeed } from './sql/change-feed.js';
