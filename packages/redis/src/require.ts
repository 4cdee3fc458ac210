/**
 * Checks of options and arguments. Each returns the value, or throws a TypeError or RangeError with the code ERR_INVALID_ARG
 * that names the option, the value and the limit.
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

/** A finite number from `min` to `max`. Without limits, any finite number. */
export function requireNumber(
  option: string,
  value: unknown,
  { min = -Infinity, max = Infinity }: { min?: number; max?: number } = {},
): number {
  if (typeof value !== 'number') {
    throw new ArgumentTypeError(`${option} must be a number, got ${describe(value)}`);
  }
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  const limits = min === -Infinity && max === Infinity ? 'a finite number' : `from ${min} to ${max}`;
  throw new ArgumentRangeError(`${option} must be ${limits}, got ${value}`);
}

/** A duration in ms: a number from `min` to `max`. `Infinity` is allowed only where `max` is Infinity. */
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
  return requireBytes(option, value, 1, MAX_NAME_BYTES);
}

/** Well-formed Unicode of `min` to `max` UTF-8 bytes, by default 1 to 1,024. UTF-8 cannot store a lone surrogate. */
export function requireText(
  option: string,
  value: unknown,
  { min = 1, max = MAX_NAME_BYTES }: { min?: number; max?: number } = {},
): string {
  const text = requireBytes(option, value, min, max);
  if (text.isWellFormed()) return text;
  throw new ArgumentTypeError(`${option} must be well-formed Unicode, got a lone surrogate`);
}

function requireBytes(option: string, value: unknown, min: number, max: number): string {
  if (typeof value !== 'string') {
    throw new ArgumentTypeError(`${option} must be a string, got ${describe(value)}`);
  }
  const bytes = Buffer.byteLength(value);
  if (bytes >= min && bytes <= max) return value;
  throw new ArgumentRangeError(`${option} must have ${min} to ${max} bytes, got ${bytes}`);
}

/** `true` or `false`; truthy and falsy values are refused. */
export function requireBoolean(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ArgumentTypeError(`${option} must be true or false, got ${describe(value)}`);
}

/** A function of any shape. */
export function requireFunction<Callback>(option: string, value: Callback): Callback {
  if (typeof value === 'function') return value;
  throw new ArgumentTypeError(`${option} must be a function, got ${describe(value)}`);
}

/** An AbortSignal of any realm, or undefined. */
export function requireSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined) return undefined;
  const isSignal = typeof signal?.addEventListener === 'function' && typeof signal.aborted === 'boolean';
  if (isSignal) return signal;
  throw new ArgumentTypeError(`signal must be an AbortSignal, got ${describe(signal)}`);
}

/** An object that is neither null nor an array. */
export function requireObject<Value extends object>(option: string, value: Value): Value {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new ArgumentTypeError(`${option} must be an object, got ${describe(value)}`);
}

/** An array of `min` to `max` items; without limits, an array of any length. The caller checks the items. */
export function requireArray<Items extends readonly unknown[]>(
  option: string,
  value: Items,
  { min = 0, max = Infinity }: { min?: number; max?: number } = {},
): Items {
  if (!Array.isArray(value)) {
    throw new ArgumentTypeError(`${option} must be an array, got ${describe(value)}`);
  }
  if (value.length >= min && value.length <= max) return value;
  const limits = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
  throw new ArgumentRangeError(`${option} must have ${limits} items, got ${value.length}`);
}

/** An iterable or async iterable, as `for await` takes it. */
export function requireIterable<Items extends Iterable<unknown> | AsyncIterable<unknown>>(
  option: string,
  value: Items,
): Items {
  const { [Symbol.iterator]: one, [Symbol.asyncIterator]: other } = Object(value) as Partial<
    Iterable<unknown> & AsyncIterable<unknown>
  >;
  if (typeof one === 'function' || typeof other === 'function') return value;
  throw new ArgumentTypeError(`${option} must be an iterable or async iterable, got ${describe(value)}`);
}

/**
 * Refuses unknown options. Otherwise a task with a misspelled `delayMs` would run at once.
 *
 * @param what The owner of the options in the error: `Queue`, `enqueue`.
 */
export function requireKnown<Options extends object>(
  what: string,
  options: Options,
  known: ReadonlySet<string>,
): Options {
  for (const name in options) {
    if (known.has(name)) continue;
    const names = known.size === 0 ? 'none' : [...known].join(', ');
    throw new ArgumentTypeError(`${what} has no option ${JSON.stringify(name)}; there are ${names}`);
  }
  return options;
}

/** Refuses options that are not an object, or unknown. */
export function requireOptions<Options extends object>(
  what: string,
  options: Options,
  known: ReadonlySet<string>,
): Options {
  return requireKnown(what, requireObject('options', options), known);
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
