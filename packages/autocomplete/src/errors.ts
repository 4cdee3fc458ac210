/** All errors of this package except misuse, which is a TypeError or RangeError with the code ERR_INVALID_ARG. */
import { CodedError } from '@mortise/redis';

/**
 * The display form and the aliases of an entry contain no words, only spaces, marks or control characters. Nothing was
 * sent.
 */
export class NoWordsError extends CodedError {
  readonly code = 'ERR_NO_WORDS';

  constructor(readonly key: string) {
    super(`entry ${JSON.stringify(key)} has no word to find it by`);
  }
}

/** The names of an entry have too many forms, or its display form, payload and aliases too many bytes as JSON. Nothing was sent. */
export class EntryTooLargeError extends CodedError {
  readonly code = 'ERR_ENTRY_TOO_LARGE';

  constructor(
    readonly key: string,
    readonly forms: number,
    readonly maxForms: number,
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(
      `entry ${JSON.stringify(key)} has ${forms} forms and ${bytes} bytes, the limits are ${maxForms} and ${maxBytes}`,
    );
  }
}

/** Another boost has had the same `id` within the last hour, with another key or amount. Nothing was changed. */
export class RequestReusedError extends CodedError {
  readonly code = 'ERR_REQUEST_REUSED';

  constructor(readonly requestKey: string) {
    super(`request ${JSON.stringify(requestKey)} was used before for another boost`);
  }
}

/** `after` is not a cursor, is damaged, or belongs to another book, text or order. Nothing was sent. */
export class InvalidCursorError extends CodedError {
  readonly code = 'ERR_INVALID_CURSOR';

  constructor(problem: string) {
    super(`after is not a cursor of these pages: ${problem}`);
  }
}

/** Pages in the order of scores end at a depth, because a page costs more the deeper it is. Order `alphabetical` has no end. */
export class PageTooDeepError extends CodedError {
  readonly code = 'ERR_PAGE_TOO_DEEP';

  constructor(
    readonly depth: number,
    readonly maxDepth: number,
  ) {
    super(`the page begins after ${depth} entries, the limit is ${maxDepth} in the order of scores`);
  }
}
