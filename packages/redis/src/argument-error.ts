/**
 * Errors of misuse: a TypeError or RangeError, as in Node itself. The `code` says that the caller is at fault, not Redis. `name`
 * stays `TypeError` or `RangeError`.
 */
import { isInstanceOf } from './instance-of.js';

/**
 * A value has the wrong type, an option is unknown, or options exclude each other.
 *
 * @remedy Correct the call: the message names the option, the value and its limits.
 */
export class ArgumentTypeError extends TypeError {
  static readonly className: string = 'ArgumentTypeError';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, value);
  }

  readonly code = 'ERR_INVALID_ARG';
}

/**
 * A value is outside its limits, or not one of the allowed words.
 *
 * @remedy Correct the call: the message names the option, the value and its limits.
 */
export class ArgumentRangeError extends RangeError {
  static readonly className: string = 'ArgumentRangeError';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, value);
  }

  readonly code = 'ERR_INVALID_ARG';
}
