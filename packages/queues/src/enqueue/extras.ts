import type { EnqueueOptions } from '../options.js';
import { resolveBackoff, resolveExpiresInMs, resolveHeaders, resolveTimeoutMs } from '../options.js';
import type { Extras } from '../task/record.js';

/** The fields that few records have; undefined for none. Throws for an option that cannot be stored. */
export function resolveExtras(options: EnqueueOptions, more: Partial<Extras>): Extras | undefined {
  const { headers, backoff } = options;
  const own = headers === undefined ? undefined : resolveHeaders(headers);
  const timeoutMs = resolveTimeoutMs(options.timeoutMs);
  const expiresInMs = resolveExpiresInMs(options);
  const extras: Extras = {
    ...(own && { headers: own }),
    ...(backoff !== undefined && { backoff: resolveBackoff(backoff) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(expiresInMs !== undefined && { expiresInMs }),
    ...more,
  };
  for (const _ in extras) return extras;
  return undefined;
}
