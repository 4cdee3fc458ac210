/** A limit of requests for Fastify: `@mortise/locks/fastify`. */
import type { RedisClient } from '@mortise/redis';
import { PROBLEM_TYPE, RequestLimit } from '../request-limit.js';
import type { LimitedRequest } from '../address-key.js';
import type { RequestLimitOptions } from '../request-limit.js';

export type { LimitedRequest } from '../address-key.js';
export type { RequestLimitOptions } from '../request-limit.js';

/** The part of a reply of Fastify that a limit needs. */
export interface LimitedReply {
  headers(values: Record<string, string>): unknown;
  code(status: number): unknown;
  type(contentType: string): unknown;
  send(body: string): unknown;
}

/** A hook of Fastify 4 and 5. */
export type LimitHook<Request extends LimitedRequest> = (
  request: Request,
  reply: LimitedReply,
) => Promise<unknown>;

/**
 * A hook that counts requests for all processes together: `app.addHook('onRequest', limitRequests(redis, 'api', options))`, or
 * `onRequest` of a route. Each answer has `RateLimit-Policy` and `RateLimit`; a refused request gets 429 with `Retry-After` and a
 * problem document. One round trip for each request. Rejects with the errors of `key` and `cost`. Throws TypeError or RangeError for
 * a wrong client, name or option. Sends nothing.
 *
 * @param name Names the limit in Redis and in the headers. Printable ASCII without `"` and `\`.
 */
export function limitRequests<Request extends LimitedRequest>(
  redis: RedisClient,
  name: string,
  options: RequestLimitOptions<Request>,
): LimitHook<Request> {
  const limit = new RequestLimit(redis, name, options);
  return async (request, reply) => {
    const { headers, refusal } = await limit.decide(request);
    reply.headers(headers);
    if (!refusal) return undefined;
    reply.code(refusal.status);
    reply.type(PROBLEM_TYPE);
    reply.send(refusal.body);
    // Fastify ends the request with a hook that returns the reply.
    return reply;
  };
}
