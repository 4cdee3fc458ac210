/** Rows of a database that are refreshed on schedule: `@mortise/cache/rows`. */
export { ClientClosedError } from '@mortise/redis';
export type { Telemetry } from '@mortise/redis';
export type { Codec } from '../codec.js';
export { RowLoadError, SqlSourceError } from '../errors.js';
export { maxQueriesOf } from './max-queries.js';
export type {
  LoadRows,
  RefresherOptions,
  RowCacheOptions,
  ScheduleAllOptions,
  ScheduleOptions,
} from './options.js';
export type { RefresherStats } from './refresher.js';
export { Refresher } from './refresher.js';
export type { RowCacheStats } from './row-cache.js';
export { RowCache } from './row-cache.js';
export type { ListedRow, ListRowsOptions, RowPage } from './row-list.js';
export type { RowState } from './row-state.js';
export type { ChangeFeedOptions, ChangeFeedStats, ChangeSource } from './feed/change-feed.js';
export { ChangeFeed } from './feed/change-feed.js';
