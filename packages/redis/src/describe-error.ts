import { inspect } from 'node:util';

const MAX_CHARACTERS = 2_000;

/**
 * Returns the text of a thrown value, up to 2,000 characters: the stack of an error, or the output of `util.inspect` for
 * another value. Never throws.
 */
export function describeError(error: unknown): string {
  const text = textOf(error);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

function textOf(error: unknown): string {
  try {
    if (error instanceof Error && typeof error.stack === 'string') return error.stack;
    return typeof error === 'string' || error instanceof Error ? String(error) : inspect(error);
  } catch {
    return `an error that cannot be shown (${typeof error})`;
  }
}
