/** What a user has typed so far. */
import { ArgumentTypeError } from '@mortise/redis';

/** Longer than any name: what is more finds nothing, since folding it would hold the process, and looking for it the server. */
export const MAX_TYPED_UNITS = 16_384;

/** Throws TypeError for what is no string. Any string will do: what is left of it may be nothing. */
export function requireTyped(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentTypeError(`text must be a string, got ${typeof text}`);
  return text;
}

/** Nothing that is stored can begin with it. */
export function isTooLong(text: string): boolean {
  return text.length > MAX_TYPED_UNITS;
}
