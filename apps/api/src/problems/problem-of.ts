import { HttpException } from '@nestjs/common';

import { CodedError, withoutLink } from '@mortise/redis';

import { isRedisDenied, isRedisUnavailable } from '../redis/is-redis-unavailable.js';
import type { ProblemSlug } from './catalogue.js';
import { isProblemSlug } from './catalogue.js';
import { Problem } from './problem.js';

/** Refusals of Fastify before a handler runs. */
const FASTIFY: Readonly<Record<string, ProblemSlug>> = {
  FST_ERR_BAD_URL: 'malformed-url',
  FST_ERR_MAX_PARAM_LENGTH: 'invalid-id',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed-request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed-json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed-json',
};

/** The problem that an error is to the client. An unknown error is an `internal-error` without details. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HttpException) return problemOfHttp(error);
  // A wait that ended without a lock, because Redis could not be asked any more.
  const { cause } = (error ?? {}) as { cause?: unknown };
  if (isRedisDenied(error) || isRedisDenied(cause))
    return new Problem('redis-denied', undefined, {}, { cause: error });
  if (error instanceof CodedError && !isRedisUnavailable(cause)) {
    const { code, ...fields } = error;
    const slug = code.slice('ERR_'.length).toLowerCase().replaceAll('_', '-');
    if (isProblemSlug(slug)) return new Problem(slug, withoutLink(error.message), fields, { cause: error });
  }
  // The client has broken off its body. The code is that of a lost connection to Redis, too.
  if (error instanceof Error && error.message === 'aborted')
    return new Problem('malformed-request', undefined, {}, { cause: error });
  if (isRedisUnavailable(error) || isRedisUnavailable(cause))
    return new Problem('redis-unavailable', undefined, {}, { cause: error });
  const { code = '', statusCode = 500 } = (error ?? {}) as { code?: string; statusCode?: number };
  const slug = FASTIFY[code] ?? slugOfStatus(statusCode);
  return new Problem(slug, undefined, {}, { cause: error });
}

/** Nest wraps the errors of Fastify, and throws its own for a route that isn't there. */
function problemOfHttp(error: HttpException): Problem {
  if (error.cause !== undefined) return problemOf(error.cause);
  return new Problem(slugOfStatus(error.getStatus()), undefined, {}, { cause: error });
}

/** For refusals without a code of their own, such as a path that leads out of the folder of the page. */
function slugOfStatus(status: number): ProblemSlug {
  if (status === 403 || status === 404) return 'unknown-route';
  return status >= 400 && status < 500 ? 'malformed-request' : 'internal-error';
}
