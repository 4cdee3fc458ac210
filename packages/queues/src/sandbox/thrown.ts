/**
 * Errors as messages between threads. A structured clone would lose their class, name and code. Threads load this file, so
 * it imports little.
 */
import { describeError } from '@mortise/redis';

export interface ThrownFields {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly code?: string;
  /** Only for RetryLater. */
  readonly delayMs?: number;
}

/** Never throws, whatever the handler threw. */
export function toFields(thrown: unknown): ThrownFields {
  try {
    if (thrown instanceof Error) {
      // A thrown value may have fields of any type.
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
    // The value cannot be cloned; its text follows.
  }
  const text = describeError(thrown);
  return { name: 'Error', message: text, stack: text };
}

/** Copies name, message, stack and code to an error, by default to a plain `Error`. */
export function toError({ name, message, stack, code }: ThrownFields, error = new Error(message)): Error {
  const said = { stack, ...(error.name !== name && { name }), ...(code !== undefined && { code }) };
  for (const [key, value] of Object.entries(said)) {
    Object.defineProperty(error, key, { value, writable: true, configurable: true });
  }
  return error;
}
