/** Questions about thrown values, which may be anything. */
import { InvalidPayloadError, WorkerError } from '../errors.js';

/** `instanceof` for thrown values, which may be a Proxy that throws. */
export function isA<Type>(
  constructor: abstract new (...args: never[]) => Type,
  error: unknown,
): error is Type {
  try {
    return error instanceof constructor;
  } catch {
    return false;
  }
}

/** Whether it has this code; an error of a sandbox has no other mark. */
export function hasCode(error: unknown, code: string): boolean {
  try {
    return (error as { readonly code?: unknown } | null)?.code === code;
  } catch {
    return false;
  }
}

/** Whether no further attempt helps: no handler, or a payload that its schema refuses. A worker reports it to `onError`. */
export function isHopeless(error: unknown, taskId: string): boolean {
  return isA(WorkerError, error) || (isA(InvalidPayloadError, error) && error.taskId === taskId);
}
