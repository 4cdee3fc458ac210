/** Rows of a table in a SQLite file, for `RowCache`. */
import { ArgumentRangeError, ArgumentTypeError, requireDuration } from '@mortise/redis';
import { SqlSourceError } from '../../errors.js';
import { quote } from '../identifier.js';
import { toJsonValue } from '../json-value.js';
import type { SqlRow } from '../json-value.js';
import { setOutbox } from '../../outbox.js';
import type { OutboxSql } from '../../outbox.js';
import { loadQuery, resolveSourceOptions } from '../source-options.js';
import type { SourceOptions, SourceTable } from '../source-options.js';
import { SqliteConnection } from './sqlite-connection.js';
import type { SqliteDatabase, SqliteQueries, SqliteTarget } from './sqlite-connection.js';
import {
  MAX_NAME_BYTES,
  outboxName,
  requireOutboxTable,
  sqliteOutbox,
  sqliteOutboxSql,
} from './sqlite-outbox.js';

export interface SqliteSourceOptions extends SourceOptions {
  /**
   * The path of the database file. The source opens the file at its first query, in WAL mode, which stays with the file. Any
   * number of processes may share it.
   */
  readonly path?: string | undefined;
  /**
   * In place of `path`: a `Database` of libsql or libsql/promise, which the source uses as it is and never closes. Its
   * queries cannot be interrupted, and without libsql/promise they block the event loop.
   */
  readonly database?: SqliteDatabase | undefined;
  /** How long a query waits for a locked file, in ms, up to 1 minute. Default 5,000. With `path` only. */
  readonly busyTimeoutMs?: number | undefined;
}

const OWN_OPTIONS: readonly (keyof SqliteSourceOptions)[] = ['path', 'database', 'busyTimeoutMs'];
const DEFAULT_BUSY_TIMEOUT_MS = 5_000;

/** Loads rows by id from SQLite, one query for a batch. */
export class SqliteSource<Row extends object = SqlRow> {
  readonly #options: SourceTable;
  readonly #connection: SqliteConnection;
  #loadSql: string | undefined;

  /**
   * Opens nothing. Throws TypeError or RangeError for invalid options, SqlSourceError (ERR_SQL_IDENTIFIER) for
   * impossible names.
   */
  constructor(options: SqliteSourceOptions) {
    this.#options = resolveSourceOptions(options, {
      source: 'SqliteSource',
      own: OWN_OPTIONS,
      maxNameBytes: MAX_NAME_BYTES,
    });
    const { table, queryTimeoutMs } = this.#options;
    const target = resolveTarget(options);
    this.#connection = new SqliteConnection(table, target);
    const connect = (): SqliteConnection => new SqliteConnection(table, target);
    setOutbox(this, sqliteOutbox(this.#options, connect, queryTimeoutMs));
  }

  /**
   * Returns the existing rows by id. The function is bound, so a `RowCache` can use it directly. Each call is one query,
   * prepared once. Values become JSON. An INTEGER becomes a number, or its digits where a number would be inexact. A BLOB
   * becomes base64, an infinite REAL its name. Rejects with SqlSourceError: ERR_SQL_SCHEMA for a missing table or column,
   * ERR_SQL_TIMEOUT after `queryTimeoutMs`, ERR_SQL_CLOSED after `close`. Rejects also with the reason of the signal, and with
   * unchanged errors of the driver. O(ids · log rows).
   */
  readonly load = async (ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Row>> => {
    if (ids.length === 0) return new Map();
    const asked = new Set(ids);
    return this.#connection
      .run(
        async (queries) => {
          this.#loadSql ??= await loadSqlOf(queries, this.#options);
          const statement = await queries.prepare(this.#loadSql);
          const found = (await statement.all(JSON.stringify(ids))) as readonly unknown[][];
          // Read after the query: an altered table has other columns than at the time of preparation.
          const names = statement.columns().map(({ name }) => name);
          const rows = new Map<string, Row>();
          for (const [id, ...values] of found) {
            // SQLite also matches 42 with "042", which is not its id.
            if (!asked.has(id as string)) continue;
            const columns = values.map((value, index) => [names[index + 1], toJsonValue(value)] as const);
            rows.set(id as string, Object.fromEntries(columns) as Row);
          }
          return rows;
        },
        this.#options.queryTimeoutMs,
        signal,
      )
      .catch((error: unknown) => {
        this.#loadSql = undefined;
        throw error;
      });
  };

  /**
   * Creates the outbox and its triggers if they are missing, with the SQL of `sqliteOutboxSql`. May be repeated, also by
   * several processes at once. Without a `ChangeFeed` that reads it, the outbox grows. Rejects with SqlSourceError
   * (ERR_SQL_SCHEMA) for a missing table or id, for a view, or if another table has the name of the outbox. Then it creates
   * nothing, because a failing trigger would fail every writer.
   */
  async installOutbox(): Promise<void> {
    const { table, id, queryTimeoutMs } = this.#options;
    const { install } = this.#outboxSql;
    await this.#connection.run(async (queries) => {
      await typesOf(queries, table, [id]);
      await requireOutboxTable(queries, table, outboxName(this.#options));
      await queries.transact(install);
    }, queryTimeoutMs);
  }

  /** Removes the outbox and its triggers. May be repeated. */
  async removeOutbox(): Promise<void> {
    const { remove } = this.#outboxSql;
    await this.#connection.run((queries) => queries.transact(remove), this.#options.queryTimeoutMs);
  }

  /** Resolves when the running query has ended; waiting queries are refused. Idempotent. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #outboxSql(): OutboxSql {
    const { table, id, outbox } = this.#options;
    return sqliteOutboxSql({ table, id, ...(outbox !== undefined && { outbox }) });
  }
}

function resolveTarget({ path, database, busyTimeoutMs }: SqliteSourceOptions): SqliteTarget {
  if ((path === undefined) === (database === undefined))
    throw new ArgumentTypeError('either path or database must be given');
  if (path !== undefined && (typeof path !== 'string' || path === ''))
    throw new ArgumentTypeError('path must be the path of a file');
  if (path === ':memory:')
    throw new ArgumentRangeError(
      'path ":memory:" would be a database of the source alone: pass it as database',
    );
  if (
    database !== undefined &&
    (typeof database?.prepare !== 'function' || typeof database.exec !== 'function')
  )
    throw new ArgumentTypeError('database must be a Database of libsql');
  return {
    path,
    database,
    busyTimeoutMs: requireDuration('busyTimeoutMs', busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, {
      min: 0,
      max: 60_000,
    }),
  };
}

/** The declared column types of a table. Throws SqlSourceError for a missing table or needed column. */
async function typesOf(
  queries: SqliteQueries,
  table: string,
  needed: readonly string[],
): Promise<Map<string, string>> {
  const found = await queries.all('select name, type from pragma_table_xinfo(?)', table);
  if (found.length === 0) throw new SqlSourceError('ERR_SQL_SCHEMA', table, 'does not exist');
  const types = new Map(found.map(([name, type]) => [name as string, type as string]));
  for (const column of needed) {
    if (!types.has(column))
      throw new SqlSourceError('ERR_SQL_SCHEMA', table, `has no column ${JSON.stringify(column)}`);
  }
  return types;
}

async function loadSqlOf(queries: SqliteQueries, options: SourceTable): Promise<string> {
  const { table, columns = [] } = options;
  const types = await typesOf(queries, table, [options.id, ...columns]);
  const type = types.get(options.id)!;
  if (!isComparedByText(type)) {
    const declared = type === '' ? 'no type' : `the type ${type}`;
    throw new SqlSourceError(
      'ERR_SQL_SCHEMA',
      table,
      `has the id ${JSON.stringify(options.id)} with ${declared}, which SQLite does not compare with text: make it INTEGER or TEXT`,
    );
  }
  return loadQuery(options, {
    from: quote(table),
    id: options.id,
    among: 'in (select value from json_each(?))',
    keyType: 'text',
  });
}

/**
 * Whether ids passed as text match their rows: SQLite converts them if the column is declared as text or as a whole number.
 */
function isComparedByText(declared: string): boolean {
  const type = declared.toUpperCase();
  if (/INT|CHAR|CLOB|TEXT/.test(type)) return true;
  return type !== '' && !/BLOB|REAL|FLOA|DOUB|^ANY$/.test(type);
}
