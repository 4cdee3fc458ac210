/** Lets pages of ALLOWED_ORIGINS read answers (CORS). They send an API key themselves: cookies are for own pages. */
import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyInstance } from 'fastify';

import type { Config } from '../config.js';
import type { RouteMethods } from './route-methods.js';

const REQUEST_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, content-digest, range, x-request-id';
const ANSWER_HEADERS =
  'etag, location, retry-after, age, x-next-refresh, ratelimit, ratelimit-policy, x-request-id, content-digest, content-range, accept-ranges';
/** How long a browser keeps the answer to a preflight. */
const MAX_AGE_S = 600;

export type CrossOriginHeaders = (headers: IncomingHttpHeaders) => Record<string, string>;

/** The headers of an answer by those of its request. */
export function crossOriginHeadersOf({ ALLOWED_ORIGINS: origins = [] }: Config): CrossOriginHeaders {
  const allowed = new Set(origins);
  return ({ origin }) => {
    if (allowed.size === 0) return {};
    if (origin === undefined || !allowed.has(origin)) return { vary: 'Origin' };
    return {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': ANSWER_HEADERS,
    };
  };
}

/** Runs after the hook that sets the headers of every answer. */
export function answerPreflights(server: FastifyInstance, methods: RouteMethods): void {
  server.addHook('onRequest', async (request, reply) => {
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!isPreflight || !reply.hasHeader('access-control-allow-origin')) return undefined;
    return reply
      .status(204)
      .headers({
        'access-control-allow-methods': methods.of(request.url).join(', '),
        'access-control-allow-headers': REQUEST_HEADERS,
        'access-control-max-age': MAX_AGE_S,
      })
      .send();
  });
}
