/** Every refusal of this package. Misuse is a TypeError or RangeError with the code ERR_INVALID_ARG instead. */
import { CodedError } from '@mortise/redis';
import type { MentionFailure, MentionSource } from './mention-completer.js';

/** Neither the display form of an entry nor an alias has anything to find it by: only spaces, marks or control characters. Nothing was sent. */
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

/** The `id` of a boost came before with another key or another amount, less than an hour ago. Nothing was changed. */
export class RequestReusedError extends CodedError {
  readonly code = 'ERR_REQUEST_REUSED';

  constructor(readonly requestKey: string) {
    super(`request ${JSON.stringify(requestKey)} came before with another boost`);
  }
}

/** `after` is no cursor, a damaged one, or one of another book, text or order. Nothing was sent. */
export class InvalidCursorError extends CodedError {
  readonly code = 'ERR_INVALID_CURSOR';

  constructor(problem: string) {
    super(`after is not a cursor of these pages: ${problem}`);
  }
}

/** In the order of scores, pages go only so far, because a page costs more the further it is. Order 'alphabetical' has no end. */
export class PageTooDeepError extends CodedError {
  readonly code = 'ERR_PAGE_TOO_DEEP';

  constructor(
    readonly depth: number,
    readonly maxDepth: number,
  ) {
    super(`the page begins behind ${depth} entries, the limit is ${maxDepth} in the order of scores`);
  }
}

/** None of the sources of a `MentionCompleter` has answered; each says why. */
export class NoSourceAnsweredError extends CodedError {
  readonly code = 'ERR_NO_SOURCE_ANSWERED';

  constructor(readonly failures: readonly MentionFailure[]) {
    super(`none of ${failures.length} sources has answered: ${failures[0]?.error.message}`, {
      cause: failures[0]?.error,
    });
  }
}

/** A source of a `MentionCompleter` took longer than `timeoutMs`. It is among the failures of an answer, and never thrown by itself. */
export class SourceTimeoutError extends CodedError {
  readonly code = 'ERR_SOURCE_TIMEOUT';

  constructor(
    readonly source: MentionSource,
    readonly timeoutMs: number,
  ) {
    super(`${source === 'recent' ? 'recent contacts' : `book ${source}`} took more than ${timeoutMs} ms`);
  }
}
