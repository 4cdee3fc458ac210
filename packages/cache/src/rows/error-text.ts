import { describeError, withoutLink } from '@mortise/redis';

/** The most that is stored of the text of an error: many rows may fail. */
const MAX_CHARACTERS = 200;

/** The message of an error, without its stack, for people. Empty for undefined. */
export function errorText(error: unknown): string {
  if (error === undefined) return '';
  try {
    const text = withoutLink(error instanceof Error ? error.message || error.name : describeError(error));
    return text.slice(0, MAX_CHARACTERS).toWellFormed();
  } catch {
    return 'an error that cannot be shown';
  }
}
