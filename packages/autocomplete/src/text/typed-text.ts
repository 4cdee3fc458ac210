import { ArgumentTypeError } from '@mortise/redis';

/** The longest text that is searched, longer than any name: folding more would block the process. */
export const MAX_TYPED_UNITS = 16_384;

/** Any string. Throws TypeError for other values. */
export function requireTyped(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentTypeError(`text must be a string, got ${typeof text}`);
  return text;
}

/** Whether the text is longer than any stored name. */
export function isTooLong(text: string): boolean {
  return text.length > MAX_TYPED_UNITS;
}
