/** Checks of what callers without types may give. All throw TypeError. */
import { ArgumentTypeError } from '@mortise/redis';

export function requireObject(option: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new ArgumentTypeError(
    `${option} must be an object, got ${Array.isArray(value) ? 'an array' : String(value)}`,
  );
}

/**
 * Refuses options that nobody reads: a name that is misspelled, or another library's, would be ignored in silence, and a task
 * that was to wait an hour would run at once.
 */
export function requireKnown(what: string, options: object, known: ReadonlySet<string>): void {
  for (const name in options) {
    if (known.has(name)) continue;
    throw new ArgumentTypeError(
      `${what} has no option ${JSON.stringify(name)}; there are ${[...known].join(', ')}`,
    );
  }
}

/** The options of a call. */
export function requireOptions(what: string, options: object, known: ReadonlySet<string>): void {
  requireObject('options', options);
  requireKnown(what, options, known);
}

/** Any object that can be listened to as an AbortSignal can, of whatever realm. */
export function requireSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const isSignal =
    typeof signal === 'object' && signal !== null && typeof signal.addEventListener === 'function';
  if (isSignal && typeof signal.aborted === 'boolean') return;
  throw new ArgumentTypeError(
    `signal must be an AbortSignal, got ${signal === null ? 'null' : typeof signal}`,
  );
}
