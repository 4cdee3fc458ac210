export { LoadFailedError, LoadTimeoutError, RowTooLargeError } from './errors.js';
export type { LoadRows, RefresherOptions, RowCacheOptions, ScheduleOptions } from './options.js';
export { Refresher } from './refresher.js';
export type { RowCacheStats } from './row-cache.js';
export { RowCache } from './row-cache.js';
