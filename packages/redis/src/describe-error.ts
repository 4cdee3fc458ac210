import { inspect } from 'node:util';

const MAX_CHARACTERS = 2_000;

/**
 * The text of an error: its stack, up to 2,000 characters; of another object what `util.inspect` shows. Never throws, whatever
 * value was thrown.
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
