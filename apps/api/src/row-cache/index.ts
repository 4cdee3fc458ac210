/** The cached tables, for the worker: `@mortise/api/row-cache`. */
export type { CachedTable } from '../cached-tables.js';
export { parseCachedTables } from '../cached-tables.js';
