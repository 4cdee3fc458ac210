/**
 * Tells whether two failures are the same: `onError` gets the same one once a minute. A source that is down fails the loads of
 * all keys, and each retry: these share the cache or table, the code and the cause, but not the keys. A value that is too large
 * is a failure of its key.
 */
import { describeError } from '@mortise/redis';
import { CacheLoadError, CacheValueError, RowLoadError } from './errors.js';

const OF_ONE_KEY = new Set(['ERR_CACHE_VALUE_TOO_LARGE', 'ERR_ROW_TOO_LARGE']);

/** The same text for the same failure. */
export function failureOf(error: unknown): string {
  if (error instanceof CacheLoadError) return textOf(error.cache, error.keys[0], error);
  if (error instanceof CacheValueError) return textOf(error.cache, error.key, error);
  if (error instanceof RowLoadError) return textOf(error.table, error.ids[0], error);
  return describeError(error).split('\n', 1)[0]!;
}

function textOf(name: string, key: string | undefined, { code, cause }: Coded): string {
  // The text of a timeout has its time, which differs from load to load.
  const rest = OF_ONE_KEY.has(code) ? key : code.endsWith('_TIMEOUT') ? '' : failureOf(cause);
  return JSON.stringify([name, code, rest]);
}

interface Coded {
  readonly code: string;
  readonly cause?: unknown;
}
