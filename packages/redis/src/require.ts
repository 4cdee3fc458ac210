/**
 * Checks of options and names. A misuse is a TypeError or RangeError with the code ERR_INVALID_ARG at the call that makes it, and
 * says which option, which value and which limit.
 */
import { ArgumentRangeError, ArgumentTypeError } from './argument-error.js';

/** A whole number from `min` to `max`. NaN, Infinity, fractions and other types are refused. */
export function requireInteger(
  option: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number },
): number {
  if (typeof value !== 'number') {
    throw new ArgumentTypeError(`${option} must be a number, got ${describe(value)}`);
  }
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new ArgumentRangeError(`${option} must be a whole number from ${min} to ${max}, got ${value}`);
  }
  return value;
}

/** A duration in ms: a number from `min` to `max`; `Infinity` only where `max` is Infinity. */
export function requireDuration(
  option: string,
  value: unknown,
  { min, max }: { min: number; max: number },
): number {
  if (typeof value !== 'number') {
    throw new ArgumentTypeError(`${option} must be a number of milliseconds, got ${describe(value)}`);
  }
  if (Number.isNaN(value) || value < min || value > max) {
    throw new ArgumentRangeError(`${option} must be from ${min} to ${max} ms, got ${value}`);
  }
  return value;
}

/** The longest name that a key is built from, in UTF-8 bytes. */
export const MAX_NAME_BYTES = 1024;

/** A string of 1 to 1,024 UTF-8 bytes. Any character is allowed: names are encoded before they become keys. */
export function requireName(option: string, value: unknown): string {
  if (typeof value !== 'string') {
    throw new ArgumentTypeError(`${option} must be a string, got ${describe(value)}`);
  }
  const bytes = Buffer.byteLength(value);
  if (bytes < 1 || bytes > MAX_NAME_BYTES) {
    throw new ArgumentRangeError(`${option} must have 1 to ${MAX_NAME_BYTES} bytes, got ${bytes}`);
  }
  return value;
}

/** One of a few words. */
export function requireOneOf<const Word extends string>(
  option: string,
  value: unknown,
  words: readonly Word[],
): Word {
  const word = words.find((candidate) => candidate === value);
  if (word === undefined) {
    const got = typeof value === 'string' ? JSON.stringify(value) : describe(value);
    throw new ArgumentRangeError(`${option} must be one of ${words.join(', ')}, got ${got}`);
  }
  return word;
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}
