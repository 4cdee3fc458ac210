import { ArgumentTypeError } from '@mortise/redis';

/** Maximum length of a searched text, longer than any name: folding more would block the process. */
const MAX_TYPED_UNITS = 16_384;

/** Checks that it is a string. Throws TypeError for other values. */
export function requireTyped(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentTypeError(`text must be a string, got ${typeof text}`);
  return text;
}

/** Whether the text is longer than any stored name. */
export function isTooLong(text: string): boolean {
  return text.length > MAX_TYPED_UNITS;
}
