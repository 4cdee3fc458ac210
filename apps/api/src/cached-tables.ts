/**
 * The cached tables stand in one variable that the API and the worker share: `CACHE_TABLES=inventory,prices:sku`. The part
 * after the colon is the column of the ids, default `id`; only the worker, which loads the rows, needs it.
 */
const TABLE = /^([A-Za-z0-9_.-]{1,63})(?::([A-Za-z0-9_]{1,63}))?$/;
const DEFAULT_ID = 'id';

/** A table of the database whose rows are cached. */
export interface CachedTable {
  /** The name of the table in the database and in Redis, optionally with a schema and a dot before it. */
  readonly name: string;
  /** The column of its ids. */
  readonly id: string;
}

/** Reads the variable. Throws RangeError for a text that is no list of tables, and for a repeated table. */
export function parseCachedTables(text: string): readonly CachedTable[] {
  const tables = text.split(',').map((part) => {
    const [, name, id = DEFAULT_ID] = TABLE.exec(part.trim()) ?? [];
    if (name === undefined)
      throw new RangeError('must be tables, each with its column of ids: stock,prices:sku');
    return { name, id };
  });
  if (new Set(tables.map(({ name }) => name)).size < tables.length)
    throw new RangeError('must not name a table twice');
  return tables;
}
