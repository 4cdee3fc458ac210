/** Lets pages of ALLOWED_ORIGINS read answers (CORS). They send an API key themselves: cookies are for own pages. */
import type { FastifyInstance } from 'fastify';

import type { Config } from '../config.js';
import type { RouteMethods } from './route-methods.js';

const REQUEST_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, content-digest, range, x-request-id';
const ANSWER_HEADERS =
  'etag, location, retry-after, age, x-next-refresh, ratelimit, ratelimit-policy, x-request-id, content-digest, content-range, accept-ranges';
/** How long a browser keeps the answer to a preflight. */
const MAX_AGE_S = 600;

export function allowOrigins(
  server: FastifyInstance,
  { ALLOWED_ORIGINS: origins = [] }: Config,
  methods: RouteMethods,
): void {
  const allowed = new Set(origins);
  if (allowed.size === 0) return;
  server.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin');
    const { origin, 'access-control-request-method': wanted } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return undefined;
    reply.header('access-control-allow-origin', origin);
    if (request.method !== 'OPTIONS' || wanted === undefined) {
      reply.header('access-control-expose-headers', ANSWER_HEADERS);
      return undefined;
    }
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
