import { CodedError } from '@mortise/redis';

/** The loader failed for a batch. Its rows keep their cached values and are tried again after a pause. */
export class LoadFailedError extends CodedError {
  readonly code = 'ERR_LOAD_FAILED';

  constructor(
    readonly table: string,
    readonly ids: readonly string[],
    override readonly cause: unknown,
  ) {
    super(
      `loading ${ids.length} rows of table "${table}" failed: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
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
