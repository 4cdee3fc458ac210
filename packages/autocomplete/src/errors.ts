/** All errors of this package except misuse, which is a TypeError or RangeError with the code ERR_INVALID_ARG. */
import { CodedError } from '@mortise/redis';

interface Sizes {
  readonly forms: number;
  readonly maxForms: number;
  readonly bytes: number;
  readonly maxBytes: number;
}

/**
 * The entry cannot be stored. Nothing was sent.
 *
 * @code ERR_NO_WORDS The display form and the aliases have only spaces, marks or control characters.
 * @remedy Ask the user for a name with letters, digits or punctuation.
 * @code ERR_ENTRY_TOO_LARGE The names have too many forms, or their JSON too many bytes.
 * @remedy Shorten the names or the payload, or give fewer aliases.
 */
export class InvalidEntryError extends CodedError {
  static override readonly className: string = 'InvalidEntryError';
  /** For ERR_ENTRY_TOO_LARGE: the forms of all names, the bytes of display form, payload and aliases as JSON, and the limits. */
  declare readonly forms?: number;
  declare readonly maxForms?: number;
  declare readonly bytes?: number;
  declare readonly maxBytes?: number;

  private constructor(
    readonly code: 'ERR_NO_WORDS' | 'ERR_ENTRY_TOO_LARGE',
    readonly key: string,
    problem: string,
  ) {
    super(`entry ${JSON.stringify(key)} ${problem}`, undefined, code);
  }

  /** The display form and the aliases have only spaces, marks or control characters. */
  static noWords(key: string): InvalidEntryError {
    return new InvalidEntryError('ERR_NO_WORDS', key, 'has no word to find it by');
  }

  static tooLarge(key: string, sizes: Sizes): InvalidEntryError {
    const { forms, maxForms, bytes, maxBytes } = sizes;
    const problem = `has ${forms} forms and ${bytes} bytes, the limits are ${maxForms} and ${maxBytes}`;
    return Object.assign(new InvalidEntryError('ERR_ENTRY_TOO_LARGE', key, problem), sizes);
  }
}

/**
 * Another boost has had the same `id` within the last hour, with another key or amount. Nothing was changed.
 *
 * @remedy Make a new `id` for each boost.
 */
export class RequestReusedError extends CodedError {
  static override readonly className: string = 'RequestReusedError';
  readonly code = 'ERR_REQUEST_REUSED';

  constructor(readonly requestKey: string) {
    super(
      `request ${JSON.stringify(requestKey)} was used before for another boost`,
      undefined,
      'ERR_REQUEST_REUSED',
    );
  }
}

/**
 * The text is no cursor, or is damaged, or belongs to another book, text or order. Nothing was sent.
 *
 * @remedy Begin without a cursor.
 */
export class InvalidCursorError extends CodedError {
  static override readonly className: string = 'InvalidCursorError';
  readonly code = 'ERR_INVALID_CURSOR';

  constructor(problem: string) {
    super(`cursor is not one of these pages: ${problem}`, undefined, 'ERR_INVALID_CURSOR');
  }
}

/**
 * A page in the order of scores begins after 10,000 entries. Deeper pages cost more.
 *
 * @remedy Let the user type more, or use `order: 'alphabetical'`, which has no end.
 */
export class PageTooDeepError extends CodedError {
  static override readonly className: string = 'PageTooDeepError';
  readonly code = 'ERR_PAGE_TOO_DEEP';

  constructor(
    readonly depth: number,
    readonly maxDepth: number,
  ) {
    super(
      `the page begins after ${depth} entries, the limit is ${maxDepth} in the order of scores`,
      undefined,
      'ERR_PAGE_TOO_DEEP',
    );
  }
}
