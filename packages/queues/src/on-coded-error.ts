import type { OnError } from '@mortise/redis';
import { CallFailedError } from './errors.js';

/** The option `onError` of workers and claims. It may be async. */
export type OnCodedError = (error: Error & { readonly code: `ERR_${string}` }) => unknown;

/** Errors of ioredis become the cause of one with a code. */
export function withCodes(onError: OnCodedError): OnError {
  return (error) => onError(hasCode(error) ? error : new CallFailedError(error));
}

function hasCode(error: unknown): error is Error & { readonly code: `ERR_${string}` } {
  return error instanceof Error && String((error as { code?: unknown }).code).startsWith('ERR_');
}
