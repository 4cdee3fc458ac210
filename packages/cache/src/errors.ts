import { CodedError } from '@mortise/redis';
import { textOf } from './text-of.js';

const UNAVAILABLE = {
  ERR_CACHE_UNAVAILABLE: 'reach',
  ERR_CLIENT_CLOSED: 'use',
  ERR_REDIS_AUTH: 'use',
  ERR_REDIS_READONLY: 'use',
  ERR_REDIS_VERSION: 'use',
};

/**
 * Redis was unavailable for a change, which may or may not have been made: the call rejects with this error. Reads report the
 * error, and load the value.
 *
 * @code ERR_CACHE_UNAVAILABLE Redis did not answer in time, or is known to be unavailable.
 * @remedy Repeat the change when Redis is back; until then readers may get the old value.
 * @code ERR_CLIENT_CLOSED The client was closed.
 * @remedy Close the client after the last call.
 * @code ERR_REDIS_AUTH The server requires a login, or refused it; `cause` is its reply.
 * @remedy Set `username` and `password` of the client.
 * @code ERR_REDIS_READONLY A write reached a replica.
 * @remedy Connect to the master, by Sentinel or Cluster.
 * @code ERR_REDIS_VERSION The server is older than Redis 7.0.
 * @remedy Use Redis 7.0 or later, or Valkey.
 */
export class CacheUnavailableError extends CodedError {
  static override readonly className: string = 'CacheUnavailableError';
  readonly code: keyof typeof UNAVAILABLE;

  constructor(
    readonly cache: string,
    readonly reason: string,
    override readonly cause?: unknown,
  ) {
    const code = codeOf(cause);
    super(`cache "${cache}" cannot ${UNAVAILABLE[code]} Redis: ${reason}`, undefined, code);
    this.code = code;
  }

  /** Whether Redis answered with an error, as a full server or a replica does. */
  get isReply(): boolean {
    return isReply(this.cause);
  }
}

function codeOf(cause: unknown): keyof typeof UNAVAILABLE {
  const code = cause instanceof CodedError ? cause.code : '';
  return Object.hasOwn(UNAVAILABLE, code) ? (code as keyof typeof UNAVAILABLE) : 'ERR_CACHE_UNAVAILABLE';
}

/** Whether an error is a reply of Redis, or has one as its cause. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ReplyError' || isReply(error.cause));
}

const LOAD_PROBLEMS = {
  ERR_CACHE_LOAD_TIMEOUT: 'load took longer than',
  ERR_CACHE_LOAD_RESULT: 'load returned',
  ERR_CACHE_REFRESH: 'a refresh failed:',
};

/**
 * A load failed for all callers that wait for it.
 *
 * @code ERR_CACHE_LOAD_TIMEOUT A load, possibly in another process, took longer than `loadTimeoutMs`.
 * @remedy Make the load faster, or raise `loadTimeoutMs`.
 * @code ERR_CACHE_LOAD_RESULT `load` returned no Map, or a key that was not requested.
 * @remedy Return a Map of requested keys alone.
 * @code ERR_CACHE_REFRESH Reported: a background refresh failed. Readers get the stale value.
 * @remedy Repair the `cause` before the stale time ends.
 */
export class CacheLoadError extends CodedError {
  static override readonly className: string = 'CacheLoadError';
  constructor(
    readonly code: keyof typeof LOAD_PROBLEMS,
    readonly cache: string,
    /** The keys of the load. */
    readonly keys: readonly string[],
    problem: string,
    override readonly cause?: unknown,
  ) {
    super(`cache "${cache}": ${JSON.stringify(keys[0])}: ${LOAD_PROBLEMS[code]} ${problem}`, undefined, code);
  }
}

const VALUE_PROBLEMS = {
  ERR_CACHE_VALUE: '',
  ERR_CACHE_VALUE_TOO_LARGE: 'it is too large: ',
};

/**
 * A value cannot be stored or read. `set` throws this error. After a load the error is reported, and the value returned.
 *
 * @code ERR_CACHE_VALUE The codec or `tags` threw, or a loader set a wrong `ttlMs`. Also reported for a stored value that
 *   cannot be decoded; the value is then loaded again.
 * @remedy Store values that the codec encodes. Change `version` when their form changes.
 * @code ERR_CACHE_VALUE_TOO_LARGE The value exceeds `maxPayloadBytes`.
 * @remedy Store less, set `compressFromBytes`, or raise `maxPayloadBytes`.
 */
export class CacheValueError extends CodedError {
  static override readonly className: string = 'CacheValueError';
  constructor(
    readonly code: keyof typeof VALUE_PROBLEMS,
    readonly cache: string,
    readonly key: string,
    override readonly cause: unknown,
    action: 'stored' | 'read' = 'stored',
  ) {
    const problem = VALUE_PROBLEMS[code] + textOf(cause);
    super(
      `cache "${cache}": the value of ${JSON.stringify(key)} cannot be ${action}: ${problem}`,
      undefined,
      code,
    );
  }
}

const ROW_PROBLEMS = {
  ERR_ROW_LOAD: (ids: readonly string[]) => `loading ${ids.length} rows failed`,
  ERR_ROW_LOAD_TIMEOUT: () => 'load timed out',
  ERR_ROW_TOO_LARGE: ([id]: readonly string[]) => `row "${id}" is too large`,
};

/**
 * Reported: rows were not loaded or cannot be stored. The rows keep their cached values and are retried after a backoff.
 *
 * @code ERR_ROW_LOAD `load` failed for these rows, or one cannot be encoded; `cause` has the reason.
 * @remedy Repair the `cause`.
 * @code ERR_ROW_LOAD_TIMEOUT `load` took longer than 90 % of `leaseMs`.
 * @remedy Make the query faster, or raise `leaseMs`.
 * @code ERR_ROW_TOO_LARGE A row exceeds `maxPayloadBytes`. Its cached value stays.
 * @remedy Load fewer columns, or raise `maxPayloadBytes`.
 */
export class RowLoadError extends CodedError {
  static override readonly className: string = 'RowLoadError';
  constructor(
    readonly code: keyof typeof ROW_PROBLEMS,
    readonly table: string,
    readonly ids: readonly string[],
    override readonly cause: unknown,
  ) {
    super(`table "${table}": ${ROW_PROBLEMS[code](ids)}: ${textOf(cause)}`, undefined, code);
  }
}

const SQL_PROBLEMS = {
  ERR_SQL_IDENTIFIER: 'cannot be used',
  ERR_SQL_SCHEMA: 'cannot be used',
  ERR_SQL_TIMEOUT: 'did not answer',
  ERR_SQL_CLOSED: 'is closed',
  ERR_SQL_OUTBOX: 'cannot be followed',
};

/**
 * A source or a change feed cannot use its database.
 *
 * @code ERR_SQL_IDENTIFIER A constructor got an impossible name.
 * @remedy Correct the name.
 * @code ERR_SQL_SCHEMA `load` or `installOutbox`: a table or column is missing, SQLite cannot compare the ids, or no
 * outbox is possible.
 * @remedy Correct `table`, `id` and `columns`.
 * @code ERR_SQL_TIMEOUT A query took longer than `queryTimeoutMs`.
 * @remedy Make the query faster, or raise `queryTimeoutMs`.
 * @code ERR_SQL_CLOSED `load` was called after `close`.
 * @remedy Stop refreshers before you close the source.
 * @code ERR_SQL_OUTBOX Reported: a feed finds no outbox, or one that misses changes of the tables in `missed`.
 * @remedy Install the outbox of these tables.
 */
export class SqlSourceError extends CodedError {
  static override readonly className: string = 'SqlSourceError';
  /** With ERR_SQL_OUTBOX, the tables whose changes the outbox misses; empty without an outbox. */
  readonly missed: readonly string[];
  override readonly cause: unknown;

  /** @param table The table, or with ERR_SQL_IDENTIFIER the name. */
  constructor(
    readonly code: keyof typeof SQL_PROBLEMS,
    readonly table: string,
    problem: string,
    { cause, missed = [] }: { readonly cause?: unknown; readonly missed?: readonly string[] } = {},
  ) {
    super(`table ${JSON.stringify(table.slice(0, 100))} ${SQL_PROBLEMS[code]}: ${problem}`, undefined, code);
    this.cause = cause;
    this.missed = missed;
  }
}
