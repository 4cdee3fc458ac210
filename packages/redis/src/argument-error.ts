/**
 * What a misuse is refused with: a TypeError or RangeError, as in Node itself, whose `code` says that the caller, and not Redis, is
 * at fault. `name` stays `TypeError` or `RangeError`.
 */

/** A value of another type than the call takes, or options that exclude each other. */
export class ArgumentTypeError extends TypeError {
  readonly code = 'ERR_INVALID_ARG';
}

/** A value beyond its limits, or none of those that there are. */
export class ArgumentRangeError extends RangeError {
  readonly code = 'ERR_INVALID_ARG';
}
