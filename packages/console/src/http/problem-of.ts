import { ArgumentRangeError, ArgumentTypeError, CodedError, isTransient } from '@mortise/redis';

import { isProblemSlug, Problem } from './problem.js';

/** Replies to a user without the right to a command, a key or a channel; the second one is that of a script. */
const DENIED = /^NOPERM\b|^ERR The user executing the script can't /;
const UNAVAILABLE = new Set<string>([
  'ERR_CLIENT_CLOSED',
  'ERR_REDIS_AUTH',
  'ERR_REDIS_READONLY',
  'ERR_REDIS_UNREACHABLE',
  'ERR_REDIS_VERSION',
]);

/**
 * The problem that an error is to the page. An unknown error is an `internal-error` without details.
 *
 * @param isChange Whether the request has a body: a wrong value came with it, or else with the query.
 */
export function problemOf(error: unknown, isChange: boolean): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ArgumentTypeError || error instanceof ArgumentRangeError)
    return new Problem(isChange ? 'invalid-body' : 'invalid-query', error.message, {}, { cause: error });
  if (!(error instanceof Error)) return new Problem('internal-error', '', {}, { cause: error });
  if (DENIED.test(error.message)) return new Problem('redis-denied', '', {}, { cause: error });
  if (error instanceof CodedError) {
    if (UNAVAILABLE.has(error.code)) return new Problem('redis-unavailable', '', {}, { cause: error });
    const slug = error.code.slice('ERR_'.length).toLowerCase().replaceAll('_', '-');
    const { code: _, ...fields } = error;
    if (isProblemSlug(slug)) return new Problem(slug, error.message, fields, { cause: error });
  }
  const isOfRedis = error.name === 'ReplyError' && isTransient(error);
  return new Problem(isOfRedis ? 'redis-unavailable' : 'internal-error', '', {}, { cause: error });
}
