/**
 * Connections to PostgreSQL, from a pool of our own or a given one. The server ends slow queries of our own pool. A
 * little later the connection is closed in any case, because an unreachable server ends nothing.
 */
import pg from 'pg';
import { ArgumentRangeError, TIMED_OUT, waitFor } from '@mortise/redis';
import { SqlSourceError } from '../../errors.js';

/** The part of `PoolClient` of `pg` that is used. */
export interface PostgresClient {
  // oxlint-disable-next-line typescript/no-explicit-any -- pg has overloads for queries that are objects
  query(query: any): Promise<any>;
  release(error?: Error | boolean): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- the emitter's own signature
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- the emitter's own signature
  off(event: string, listener: (...args: any[]) => void): unknown;
}

/** The part of `Pool` of `pg` that is used. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  readonly options?: { readonly max?: number | undefined };
}

export interface PostgresQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly types?: object;
}

/** Rows as arrays, with the column names. */
export interface PostgresResult {
  readonly rows: readonly (readonly unknown[])[];
  readonly fields: readonly { readonly name: string }[];
}

export interface PostgresTarget {
  readonly url?: string | undefined;
  readonly pool?: PostgresPool | undefined;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly queryTimeoutMs: number;
}

/** A reader keeps one connection, and loads need another. */
const MIN_SHARED_CONNECTIONS = 2;
/** How long the server may take to end a query before its connection is closed. */
const GRACE_MS = 500;
/** The server ended a query: by statement_timeout, or an administrator did. */
const QUERY_CANCELED = '57014';

export class PostgresConnections {
  readonly #table: string;
  readonly #limitMs: number;
  readonly #cutMs: number;
  readonly #pool: PostgresPool;
  readonly #own: pg.Pool | undefined;
  /** Connections of readers, so that readers and loads don't wait for each other. */
  readonly #ofReaders: pg.Pool | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  /** Connects to nothing. @param table Used in errors. */
  constructor(table: string, target: PostgresTarget) {
    this.#table = table;
    this.#limitMs = target.queryTimeoutMs;
    if (target.pool === undefined) {
      this.#own = poolOf(target, target.maxConnections);
      this.#ofReaders = poolOf(target, Infinity);
    }
    this.#pool = this.#own ?? (target.pool as PostgresPool);
    this.#cutMs = target.queryTimeoutMs + (this.#own ? GRACE_MS : 0);
  }

  /** Runs one query, or statements without parameters in one transaction, on any connection. Throws SqlSourceError, the signal's reason, and errors of pg unchanged. */
  async query(query: PostgresQuery, signal?: AbortSignal): Promise<PostgresResult> {
    const client = await this.#connect(this.#pool, signal);
    try {
      const result = await this.queryOn(client, query, signal);
      client.release();
      return result;
    } catch (error) {
      // An error reported by the server leaves the connection usable.
      client.release(!hasSqlState(error));
      throw error;
    }
  }

  /** Throws RangeError for a given pool of one connection: a reader would keep it, and nothing could be loaded. */
  requireRoomForReader(): void {
    const max = this.#own ? undefined : this.#pool.options?.max;
    if (max === undefined || max >= MIN_SHARED_CONNECTIONS) return;
    throw new ArgumentRangeError(
      `the pool of table ${JSON.stringify(this.#table)} must have at least ${MIN_SHARED_CONNECTIONS} connections, as a change feed keeps one, got ${max}`,
    );
  }

  /** A connection for the caller to release: beside `maxConnections`, or from the given pool. */
  connectReader(signal?: AbortSignal): Promise<PostgresClient> {
    return this.#connect(this.#ofReaders ?? this.#pool, signal);
  }

  async #connect(pool: PostgresPool, signal?: AbortSignal): Promise<PostgresClient> {
    if (this.#isClosed) throw new SqlSourceError('ERR_SQL_CLOSED', this.#table, 'its source was closed');
    signal?.throwIfAborted();
    const connecting = pool.connect();
    try {
      return await waitFor(connecting, { signal });
    } catch (error) {
      connecting.then(
        (client) => client.release(),
        () => undefined,
      );
      throw error;
    }
  }

  /** Runs one query on a connection of the caller. After an error without SQL state the connection is unusable. */
  async queryOn(client: PostgresClient, query: PostgresQuery, signal?: AbortSignal): Promise<PostgresResult> {
    const { text, values, types } = query;
    const running = client.query({
      text,
      ...(values && { values, rowMode: 'array' }),
      ...(types && { types }),
    });
    try {
      const result = await waitFor(running as Promise<PostgresResult>, { waitMs: this.#cutMs, signal });
      if (result === TIMED_OUT) throw this.#timeout();
      return result;
    } catch (error) {
      if (sqlStateOf(error) === QUERY_CANCELED) throw this.#timeout(error);
      throw error;
    }
  }

  #timeout(cause?: unknown): SqlSourceError {
    const problem = `a query took longer than ${this.#limitMs} ms`;
    return new SqlSourceError('ERR_SQL_TIMEOUT', this.#table, problem, { cause });
  }

  /** Closes our own connections after their queries. A given pool stays open. Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#closing ??= Promise.all([this.#own?.end(), this.#ofReaders?.end()]).then(() => undefined);
    return this.#closing;
  }
}

function poolOf(target: PostgresTarget, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: target.url,
    max,
    connectionTimeoutMillis: target.connectTimeoutMs,
    statement_timeout: target.queryTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'mortise',
  });
  // An idle connection was lost: the next query gets another one.
  pool.on('error', () => undefined);
  return pool;
}

/** The SQL state of an error reported by the server; undefined for other errors. */
export function sqlStateOf(error: unknown): string | undefined {
  const code: unknown = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the connection is usable after this error. Class 57P: the server is shutting down. */
function hasSqlState(error: unknown): boolean {
  const code = sqlStateOf(error instanceof SqlSourceError ? error.cause : error);
  return code !== undefined && !code.startsWith('57P') && !code.startsWith('08');
}
