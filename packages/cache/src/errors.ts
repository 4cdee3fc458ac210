import { CodedError } from '@mortise/redis';
import { textOf } from './text-of.js';

/** The loader failed for a batch. Its rows keep their cached values and are tried again after a pause. */
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

/** The loader took nearly as long as the lease of its batch; its result is no longer wanted. */
export class LoadTimeoutError extends CodedError {
  readonly code = 'ERR_LOAD_TIMEOUT';

  constructor(
    readonly table: string,
    readonly limitMs: number,
  ) {
    super(`table "${table}" was not loaded within ${limitMs} ms`);
  }
}

/** A row is larger, as JSON in UTF-8, than `maxRowBytes`. Its cached value stays, as after a load that failed. */
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

/**
 * Redis has not answered in time, or is known to be away. What was to be changed may or may not have been changed. Reads
 * don't end with this: they load.
 */
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

/** A loader, or the one of another process, took longer than `loadTimeoutMs`. */
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

/** What `load` gave back is no Map, or has a key that it was not asked for. */
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
 * A value, or its tags, cannot be stored: the codec or `tags` threw. From `set`; after a load it is reported, and the value returned.
 * Reported as well when the codec cannot read what is stored, which is loaded anew then.
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

/** A value has more than `maxValueBytes`, encoded. From `set`; after a load it is reported, and the value returned. */
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

/** A load in the background failed; readers get the stale value until its end. Reported. */
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

/** A name that no table or column can have. */
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

/** The database does not have what the options of a source name: found out with its first query. */
export class SqlSchemaError extends CodedError {
  readonly code = 'ERR_SQL_SCHEMA';

  constructor(
    readonly table: string,
    readonly problem: string,
  ) {
    super(`table ${JSON.stringify(table)} ${problem}`);
  }
}

/** A query, or waiting for the database, took longer than `queryTimeoutMs`. */
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

/** `load` after `close`. */
export class SqlClosedError extends CodedError {
  readonly code = 'ERR_SQL_CLOSED';

  constructor(readonly table: string) {
    super(`the source of table ${JSON.stringify(table)} is closed`);
  }
}

/**
 * A `ChangeFeed` does not find the outbox of its source: `installOutbox` has not been called, nor its SQL been run. Or the outbox does not hear
 * of all changes, since the table has got heirs or has become a partition after that: then the feed goes on.
 */
export class SqlOutboxError extends CodedError {
  readonly code = 'ERR_SQL_OUTBOX';

  constructor(
    readonly table: string,
    readonly outbox: string,
    /** The tables whose changes are missed; none when there is no outbox. */
    readonly missed: readonly string[] = [],
  ) {
    super(
      missed.length === 0
        ? `table ${JSON.stringify(table)} has no outbox ${JSON.stringify(outbox)}: install it with installOutbox()`
        : `outbox ${JSON.stringify(outbox)} of table ${JSON.stringify(table)} misses changes of ${missed.join(', ')}: run installOutbox() again`,
    );
  }
}
