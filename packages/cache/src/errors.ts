import { CodedError } from '@mortise/redis';
import { textOf } from './text-of.js';

/** `load` failed for these rows. They keep their cached values and are retried after a backoff. */
export class LoadFailedError extends CodedError {
  readonly code = 'ERR_LOAD_FAILED';

  constructor(
    readonly table: string,
    readonly ids: readonly string[],
    override readonly cause: unknown,
  ) {
    super(`loading ${ids.length} rows of table "${table}" failed: ${textOf(cause)}`);
  }
}

/** `load` exceeded its time limit, which is below the lease of its batch; its result is ignored. */
export class LoadTimeoutError extends CodedError {
  readonly code = 'ERR_LOAD_TIMEOUT';

  constructor(
    readonly table: string,
    readonly limitMs: number,
  ) {
    super(`table "${table}" was not loaded within ${limitMs} ms`);
  }
}

/** An encoded row exceeds `maxPayloadBytes`. Its cached value stays, as after a failed load. */
export class RowTooLargeError extends CodedError {
  readonly code = 'ERR_ROW_TOO_LARGE';

  constructor(
    readonly table: string,
    readonly id: string,
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(`row "${id}" of table "${table}" has ${bytes} bytes, the limit is ${maxBytes}`);
  }
}

/** Redis did not answer in time or is known to be unavailable. The change may or may not have been made. Reads load instead of rejecting with this. */
export class CacheUnavailableError extends CodedError {
  readonly code = 'ERR_CACHE_UNAVAILABLE';

  constructor(
    readonly cache: string,
    readonly reason: string,
    override readonly cause?: unknown,
  ) {
    super(`cache "${cache}" cannot reach Redis: ${reason}`);
  }
}

/** A load, possibly in another process, took longer than `loadTimeoutMs`. */
export class CacheLoadTimeoutError extends CodedError {
  readonly code = 'ERR_CACHE_LOAD_TIMEOUT';

  constructor(
    readonly cache: string,
    readonly keys: readonly string[],
    readonly limitMs: number,
  ) {
    super(`cache "${cache}": ${JSON.stringify(keys[0])} was not loaded within ${limitMs} ms`);
  }
}

/** `load` returned no Map, or a key that was not requested. */
export class CacheLoadResultError extends CodedError {
  readonly code = 'ERR_CACHE_LOAD_RESULT';

  constructor(
    readonly cache: string,
    readonly problem: string,
  ) {
    super(`cache "${cache}": load returned ${problem}`);
  }
}

/**
 * The codec or `tags` threw. Thrown by `set`; after a load it is reported and the value returned.
 * Also reported when the codec cannot decode a stored value, which is then loaded anew.
 */
export class CacheValueError extends CodedError {
  readonly code = 'ERR_CACHE_VALUE';

  constructor(
    readonly cache: string,
    readonly key: string,
    override readonly cause: unknown,
    action: 'stored' | 'read' = 'stored',
  ) {
    super(`cache "${cache}": the value of ${JSON.stringify(key)} cannot be ${action}: ${textOf(cause)}`);
  }
}

/** An encoded value exceeds `maxPayloadBytes`. Thrown by `set`; after a load it is reported and the value returned. */
export class CacheValueTooLargeError extends CodedError {
  readonly code = 'ERR_CACHE_VALUE_TOO_LARGE';

  constructor(
    readonly cache: string,
    readonly key: string,
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(
      `cache "${cache}": the value of ${JSON.stringify(key)} has ${bytes} bytes, the limit is ${maxBytes}`,
    );
  }
}

/** Reported: a background refresh failed. Readers get the stale value until its end. */
export class CacheRefreshError extends CodedError {
  readonly code = 'ERR_CACHE_REFRESH';

  constructor(
    readonly cache: string,
    readonly key: string,
    override readonly cause: unknown,
  ) {
    super(`cache "${cache}": ${JSON.stringify(key)} was not loaded again: ${textOf(cause)}`);
  }
}

/** The name is impossible for a table or column. */
export class SqlIdentifierError extends CodedError {
  readonly code = 'ERR_SQL_IDENTIFIER';

  constructor(
    readonly option: string,
    readonly identifier: string,
    readonly reason: string,
  ) {
    super(`${option} cannot be ${JSON.stringify(identifier.slice(0, 100))}: ${reason}`);
  }
}

/** A table or column named in the options of a source is missing or unusable. */
export class SqlSchemaError extends CodedError {
  readonly code = 'ERR_SQL_SCHEMA';

  constructor(
    readonly table: string,
    readonly problem: string,
  ) {
    super(`table ${JSON.stringify(table)} ${problem}`);
  }
}

/** A query, or the wait for the database, took longer than `queryTimeoutMs`. */
export class SqlTimeoutError extends CodedError {
  readonly code = 'ERR_SQL_TIMEOUT';

  constructor(
    readonly table: string,
    readonly limitMs: number,
    override readonly cause?: unknown,
  ) {
    super(`a query of table ${JSON.stringify(table)} was not done within ${limitMs} ms`);
  }
}

/** `load` was called after `close`. */
export class SqlClosedError extends CodedError {
  readonly code = 'ERR_SQL_CLOSED';

  constructor(readonly table: string) {
    super(`the source of table ${JSON.stringify(table)} is closed`);
  }
}

/**
 * Reported by a `ChangeFeed` whose source has no outbox: run `installOutbox` or its SQL first. Also reported when the outbox misses
 * changes, because child tables or partitions were added later; then the feed goes on.
 */
export class SqlOutboxError extends CodedError {
  readonly code = 'ERR_SQL_OUTBOX';

  constructor(
    readonly table: string,
    readonly outbox: string,
    /** The tables whose changes are missed; empty without an outbox. */
    readonly missed: readonly string[] = [],
  ) {
    super(
      missed.length === 0
        ? `table ${JSON.stringify(table)} has no outbox ${JSON.stringify(outbox)}: install it with installOutbox()`
        : `outbox ${JSON.stringify(outbox)} of table ${JSON.stringify(table)} misses changes of ${missed.join(', ')}: run installOutbox() again`,
    );
  }
}
