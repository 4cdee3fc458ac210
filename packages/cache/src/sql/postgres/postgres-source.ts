/** Rows of a PostgreSQL table, for `RowCache`. */
import { requireDuration, requireInteger } from '@mortise/redis';
import { requireIdentifier } from '../identifier.js';
import type { SqlRow } from '../json-value.js';
import { setOutbox } from '../outbox.js';
import { loadQuery, resolveSourceOptions } from '../source-options.js';
import type { SourceOptions, SourceTable } from '../source-options.js';
import { MAX_NAME_BYTES } from './limits.js';
import { PostgresOutbox } from './postgres-outbox.js';
import { postgresOutboxSql } from './postgres-outbox-sql.js';
import type { PostgresOutboxOptions } from './postgres-outbox-sql.js';
import { PostgresConnections } from './postgres-pool.js';
import type { PostgresPool, PostgresTarget } from './postgres-pool.js';
import { describeTable, schemaOf } from './postgres-table.js';
import type { PostgresTable } from './postgres-table.js';
import { jsonTypes } from './postgres-values.js';

export interface PostgresSourceOptions extends SourceOptions {
  /** `postgres://user:password@host:port/database`: the source has a pool of its own. */
  readonly url?: string;
  /** Instead of `url`: a `Pool` of `pg`, which the source uses as it is and never closes. */
  readonly pool?: PostgresPool;
  /** The schema of the table. Default: the first of the `search_path` that has it. */
  readonly schema?: string;
  /** Connections of the pool, 1 to 100. Default 4. With `url` alone. */
  readonly maxConnections?: number;
  /** How long connecting, or waiting for a connection, may take, in ms, up to 10 minutes. Default 5,000. With `url` alone. */
  readonly connectTimeoutMs?: number;
}

interface Prepared {
  readonly table: PostgresTable;
  readonly text: string;
}

/** Loads rows by id from PostgreSQL 13 or later, a batch by one query. */
export class PostgresSource<Row extends object = SqlRow> {
  readonly #options: SourceTable;
  readonly #schema: string | undefined;
  readonly #connections: PostgresConnections;
  #prepared: Prepared | undefined;

  /**
   * Connects to nothing. Throws TypeError or RangeError for options that are out of range, SqlIdentifierError (ERR_SQL_IDENTIFIER) for
   * names that no table can have.
   */
  constructor(options: PostgresSourceOptions) {
    this.#options = resolveSourceOptions(options, MAX_NAME_BYTES);
    const { schema } = options;
    this.#schema = schema === undefined ? undefined : requireIdentifier('schema', schema, MAX_NAME_BYTES);
    this.#connections = new PostgresConnections(
      this.#options.table,
      resolveTarget(options, this.#options.queryTimeoutMs),
    );
    setOutbox(this, new PostgresOutbox(this.#connections, this.#schema, this.#options));
  }

  /**
   * The rows that are there, by id; bound, so it can be handed to a `RowCache` as it is. One query (`= any($1)` with the id's own type);
   * the first one is preceded by a look into the catalogue. Values become JSON: an int8 a number, or its digits where a number would
   * not be exact; numeric, date, time and interval their text, a timestamptz ISO 8601 in UTC; bytea base64; NaN and infinities
   * their names; the rest as `pg` reads it. Rejects with SqlSchemaError (ERR_SQL_SCHEMA) when the table or a column isn't there,
   * SqlTimeoutError (ERR_SQL_TIMEOUT) after `queryTimeoutMs`, SqlClosedError (ERR_SQL_CLOSED) after `close`, with the reason of the
   * signal, and with errors of pg as they are. O(ids · log rows).
   */
  readonly load = async (ids: readonly string[], signal?: AbortSignal): Promise<Map<string, Row>> => {
    const rows = new Map<string, Row>();
    if (ids.length === 0) return rows;
    try {
      this.#prepared ??= await this.#prepare(signal);
      const { table, text } = this.#prepared;
      const asked = new Set(ids.filter(table.isId));
      if (asked.size === 0) return rows;
      const values = [[...asked]];
      const found = await this.#connections.query({ text, values, types: jsonTypes }, signal);
      const names = found.fields.map(({ name }) => name);
      for (const [id, ...columns] of found.rows) {
        // Types like citext find "A" for "a" too, which isn't its id.
        if (!asked.has(id as string)) continue;
        const row = columns.map((value, index) => [names[index + 1], value] as const);
        rows.set(id as string, Object.fromEntries(row) as Row);
      }
      return rows;
    } catch (error) {
      // The table may have become another one.
      this.#prepared = undefined;
      throw error;
    }
  };

  /**
   * Makes the outbox and its triggers where they are missing, by what `postgresOutboxSql` prints, in the schema of the table. May be repeated, also
   * by several processes at once; needs the rights of the table's owner. Without a `ChangeFeed` that reads it the outbox grows.
   */
  async installOutbox(): Promise<void> {
    const { install } = postgresOutboxSql(await this.#outboxOptions());
    await this.#connections.run(install);
  }

  /** Removes the outbox with its triggers and functions. May be repeated. */
  async removeOutbox(): Promise<void> {
    const { remove } = postgresOutboxSql(await this.#outboxOptions());
    await this.#connections.run(remove);
  }

  /** Resolves when the running queries have ended. A pool that was given stays open. Idempotent. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #outboxOptions(): Promise<PostgresOutboxOptions> {
    const { table, id, outbox } = this.#options;
    const schema = await schemaOf(this.#connections, this.#schema, table);
    return { schema, table, id, ...(outbox !== undefined && { outbox }) };
  }

  async #prepare(signal?: AbortSignal): Promise<Prepared> {
    const table = await describeTable(this.#connections, this.#schema, this.#options, signal);
    const text = loadQuery(this.#options, {
      from: table.name,
      id: this.#options.id,
      among: `= any($1::${table.idType}[])`,
      keyType: 'text',
    });
    return { table, text };
  }
}

function resolveTarget(options: PostgresSourceOptions, queryTimeoutMs: number): PostgresTarget {
  const { url, pool, maxConnections = 4, connectTimeoutMs = 5_000 } = options;
  if ((url === undefined) === (pool === undefined)) throw new TypeError('either url or pool must be given');
  if (url !== undefined && (typeof url !== 'string' || !/^postgres(ql)?:\/\//.test(url)))
    throw new TypeError('url must begin with postgres:// or postgresql://');
  if (pool !== undefined && typeof pool?.connect !== 'function')
    throw new TypeError('pool must be a Pool of pg');
  return {
    url,
    pool,
    maxConnections: requireInteger('maxConnections', maxConnections, { min: 1, max: 100 }),
    connectTimeoutMs: requireDuration('connectTimeoutMs', connectTimeoutMs, { min: 1, max: 600_000 }),
    queryTimeoutMs,
  };
}
