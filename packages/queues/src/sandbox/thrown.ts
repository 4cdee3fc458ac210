/**
 * Errors on their way between threads: a structured clone would lose their class, their name and their code. Threads load this
 * file, so it imports little.
 */
import { describeError } from '@mortise/redis';

export interface ThrownFields {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly code?: string;
  /** Of RetryLater. */
  readonly delayMs?: number;
}

/** Never throws, whatever a handler has thrown. */
export function toFields(thrown: unknown): ThrownFields {
  try {
    if (thrown instanceof Error) {
      // Whatever the types say, anything may have been put there.
      const { name, message, stack, code, delayMs } = thrown as Readonly<Record<keyof ThrownFields, unknown>>;
      return {
        name: String(name),
        message: String(message),
        stack: String(stack),
        ...(typeof code === 'string' && { code }),
        ...(typeof delayMs === 'number' && { delayMs }),
      };
    }
  } catch {
    // A value that can't be cloned is described by a text.
  }
  const text = describeError(thrown);
  return { name: 'Error', message: text, stack: text };
}

/** Makes an error say the same. Default: a plain one. */
export function toError({ name, message, stack, code }: ThrownFields, error = new Error(message)): Error {
  const said = { stack, ...(error.name !== name && { name }), ...(code !== undefined && { code }) };
  for (const [key, value] of Object.entries(said)) {
    Object.defineProperty(error, key, { value, writable: true, configurable: true });
  }
  return error;
}
