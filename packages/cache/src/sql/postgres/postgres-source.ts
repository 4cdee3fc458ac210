/** Rows of a PostgreSQL table, for `RowCache`. */
import { ArgumentTypeError, requireDuration, requireInteger } from '@mortise/redis';
import { requireIdentifier } from '../identifier.js';
import type { SqlRow } from '../json-value.js';
import { setOutbox } from '../../outbox.js';
import { loadQuery, resolveSourceOptions } from '../source-options.js';
import type { SourceOptions, SourceTable } from '../source-options.js';
import { postgresOutbox } from './postgres-outbox.js';
import { MAX_NAME_BYTES, outboxName, postgresOutboxSql, requireNotify } from './postgres-outbox-sql.js';
import type { PostgresOutboxOptions } from './postgres-outbox-sql.js';
import { PostgresConnections, sqlStateOf } from './postgres-pool.js';
import type { PostgresPool, PostgresResult, PostgresTarget } from './postgres-pool.js';
import { describeTable, requireOutboxTable, schemaOf } from './postgres-table.js';
import type { PostgresTable } from './postgres-table.js';
import { jsonTypes } from './postgres-values.js';

export interface PostgresSourceOptions extends SourceOptions {
  /** `postgres://user:password@host:port/database`. The source then has its own pool. */
  readonly url?: string | undefined;
  /**
   * In place of `url`: a `Pool` of `pg`, which the source uses as it is and never closes. It needs `maxConnections` connections for each
   * table loaded through it, and one for each `ChangeFeed`.
   */
  readonly pool?: PostgresPool | undefined;
  /** The schema of the table. Default: the first schema of the `search_path` that contains it. */
  readonly schema?: string | undefined;
  /**
   * Connections for loads, 1 to 204, opened when needed; a `ChangeFeed` has one more. With fewer than `maxQueriesOf(options)`
   * of the `Refresher`, rows that time out delay the loads of others. Default 8, enough for the default `concurrency`. With
   * `url` only.
   */
  readonly maxConnections?: number | undefined;
  /** The time limit of connecting, or of waiting for a connection, in ms, up to 10 minutes. Default 5,000. With `url` only. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Whether the outbox notifies its feed. Use false for a table written by two-phase commit (PREPARE TRANSACTION), which
   * PostgreSQL refuses after a notification. Its feed then reads the outbox every `recheckMs`, by default 100 ms. Default
   * true.
   */
  readonly notify?: boolean | undefined;
}

const OWN_OPTIONS: readonly (keyof PostgresSourceOptions)[] = [
  'url',
  'pool',
  'schema',
  'maxConnections',
  'connectTimeoutMs',
  'notify',
];
/** `maxQueriesOf` of a refresher with the default and with the largest `concurrency`. */
export const DEFAULT_CONNECTIONS = 8;
export const MAX_CONNECTIONS = 204;

/** Class 22: data errors, such as a text that its type cannot parse. */
const DATA_ERROR = /^22/;

interface Prepared {
  readonly table: PostgresTable;
  readonly text: string;
  /** The same query with ids compared as text; undefined if no requested id can fail the query. */
  readonly byText: string | undefined;
}

/** Loads rows by id from PostgreSQL 13 or later, one query for a batch. */
export class PostgresSource<Row extends object = SqlRow> {
  readonly #options: SourceTable;
  readonly #schema: string | undefined;
  readonly #connections: PostgresConnections;
  readonly #notify: boolean;
  #prepared: Prepared | undefined;

  /**
   * Connects to nothing. Throws TypeError or RangeError for invalid options, SqlSourceError (ERR_SQL_IDENTIFIER) for
   * impossible names.
   */
  constructor(options: PostgresSourceOptions) {
    this.#options = resolveSourceOptions(options, {
      source: 'PostgresSource',
      own: OWN_OPTIONS,
      maxNameBytes: MAX_NAME_BYTES,
    });
    const { schema } = options;
    this.#schema = schema === undefined ? undefined : requireIdentifier('schema', schema, MAX_NAME_BYTES);
    this.#connections = new PostgresConnections(
      this.#options.table,
      resolveTarget(options, this.#options.queryTimeoutMs),
    );
    this.#notify = requireNotify(options.notify);
    setOutbox(this, postgresOutbox(this.#connections, this.#schema, this.#options, this.#notify));
  }

  /**
   * Returns the existing rows by id. The function is bound, so a `RowCache` can use it directly. Each call is one query (`=
   * any($1)` with the type of the id); the first call also reads the catalogue. A requested id may be invalid for a type that
   * is no whole number, UUID or text. Then the query fails, and a second one compares text, without the index. Values become
   * JSON. An int8 becomes a number, or its digits where a number would be inexact. Numeric, date, time and interval become
   * their text, a timestamptz ISO 8601 in UTC, bytea base64. NaN and infinities become their names. All other values are as
   * `pg` parses them. Rejects with SqlSourceError: ERR_SQL_SCHEMA for a missing table or column, ERR_SQL_TIMEOUT after
   * `queryTimeoutMs`, ERR_SQL_CLOSED after `close`. Rejects also with the reason of the signal, and with unchanged errors of
   * pg. O(ids · log rows).
   */
  readonly load = async (ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Row>> => {
    const rows = new Map<string, Row>();
    if (ids.length === 0) return rows;
    try {
      this.#prepared ??= await this.#prepare(signal);
      const asked = new Set(ids.filter(this.#prepared.table.isId));
      if (asked.size === 0) return rows;
      const found = await this.#find(this.#prepared, [...asked], signal);
      const names = found.fields.map(({ name }) => name);
      for (const [id, ...columns] of found.rows) {
        // Types such as citext match "A" with "a", which is not its id.
        if (!asked.has(id as string)) continue;
        const row = columns.map((value, index) => [names[index + 1], value] as const);
        rows.set(id as string, Object.fromEntries(row) as Row);
      }
      return rows;
    } catch (error) {
      // The table may have been replaced.
      this.#prepared = undefined;
      throw error;
    }
  };

  /**
   * Creates the outbox and its triggers if they are missing, with the SQL of `postgresOutboxSql`, in the schema of the
   * table. May be repeated, also by several processes at once; needs the rights of the table's owner. Without a
   * `ChangeFeed` that reads it, the outbox grows. Rejects with SqlSourceError (ERR_SQL_SCHEMA) for a missing table or id,
   * for a view, or if another table has the name of the outbox. Then it creates nothing, because a failing trigger would
   * fail every writer.
   */
  async installOutbox(): Promise<void> {
    const options = await this.#outboxOptions();
    const { install } = postgresOutboxSql(options);
    await describeTable(this.#connections, this.#schema, { ...this.#options, columns: undefined });
    await requireOutboxTable(this.#connections, { ...options, outbox: outboxName(options) });
    await this.#connections.query({ text: install });
  }

  /** Removes the outbox with its triggers and functions. May be repeated. */
  async removeOutbox(): Promise<void> {
    const { remove } = postgresOutboxSql(await this.#outboxOptions());
    await this.#connections.query({ text: remove });
  }

  /** Resolves when the running queries have ended. A given pool stays open. Idempotent. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #outboxOptions(): Promise<PostgresOutboxOptions> {
    const { table, id, outbox } = this.#options;
    const schema = await schemaOf(this.#connections, this.#schema, table);
    return { schema, table, id, notify: this.#notify, ...(outbox !== undefined && { outbox }) };
  }

  async #find(
    { text, byText }: Prepared,
    ids: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<PostgresResult> {
    const query = { values: [ids], types: jsonTypes };
    try {
      return await this.#connections.query({ ...query, text }, signal);
    } catch (error) {
      // Only the server knows which texts are valid dates, for example.
      if (byText === undefined || !DATA_ERROR.test(sqlStateOf(error) ?? '')) throw error;
      return this.#connections.query({ ...query, text: byText }, signal);
    }
  }

  async #prepare(signal?: AbortSignal): Promise<Prepared> {
    const table = await describeTable(this.#connections, this.#schema, this.#options, signal);
    const parts = { from: table.name, id: this.#options.id, keyType: 'text' };
    const text = loadQuery(this.#options, { ...parts, among: `= any($1::${table.idType}[])` });
    const byText = table.isChecked
      ? undefined
      : loadQuery(this.#options, { ...parts, among: '= any($1::text[])', isByText: true });
    return { table, text, byText };
  }
}

function resolveTarget(options: PostgresSourceOptions, queryTimeoutMs: number): PostgresTarget {
  const { url, pool, maxConnections = DEFAULT_CONNECTIONS, connectTimeoutMs = 5_000 } = options;
  if ((url === undefined) === (pool === undefined))
    throw new ArgumentTypeError('either url or pool must be given');
  if (url !== undefined && (typeof url !== 'string' || !/^postgres(ql)?:\/\//.test(url)))
    throw new ArgumentTypeError('url must begin with postgres:// or postgresql://');
  if (pool !== undefined && typeof pool?.connect !== 'function')
    throw new ArgumentTypeError('pool must be a Pool of pg');
  return {
    url,
    pool,
    maxConnections: requireInteger('maxConnections', maxConnections, {
      min: 1,
      max: MAX_CONNECTIONS,
    }),
    connectTimeoutMs: requireDuration('connectTimeoutMs', connectTimeoutMs, { min: 1, max: 600_000 }),
    queryTimeoutMs,
  };
}
