/** Settings from the environment. */
export type { Address } from './fields.js';
export { addresses, port, read, url, wholeNumber } from './fields.js';
export { readSettings, SettingsError } from './read-settings.js';
export type { RedisPlace, RedisSettings } from './redis-settings.js';
export { refineRedis, REDIS_FIELDS, redisPlaceOf } from './redis-settings.js';
export type { TraceExport } from './tracing-settings.js';
export { traceExportOf, TRACING_FIELDS } from './tracing-settings.js';
