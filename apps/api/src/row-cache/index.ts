/** What the worker needs to know of the tables whose rows the API serves: `@mortise/api/row-cache`. */
export type { CachedTable } from './cached-tables.js';
export { parseCachedTables } from './cached-tables.js';
