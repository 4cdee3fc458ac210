/** A limit of requests for Express, and for servers with the same middleware: `@mortise/locks/express`. */
import type { RedisClient } from '@mortise/redis';
import { PROBLEM_TYPE, RequestLimit } from '../request-limit.js';
import type { LimitedRequest } from '../address-key.js';
import type { Decision, RequestLimitOptions } from '../request-limit.js';

export type { LimitedRequest } from '../address-key.js';
export type { RequestLimitOptions } from '../request-limit.js';

/** The part of a response of Node that a refusal needs. */
export interface LimitedResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** A middleware for Express 4 and 5, Connect and Polka. */
export type LimitMiddleware<Request extends LimitedRequest> = (
  request: Request,
  response: LimitedResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Middleware that counts requests for all processes together: `app.use(limitRequests(redis, 'api', { limit: 100, periodMs: 60_000 }))`.
 * Each answer has `RateLimit-Policy` and `RateLimit`; a refused request gets 429 with `Retry-After` and a problem document. One
 * round trip for each request. Errors of `key` and `cost` go to `next`. Throws TypeError or RangeError for a wrong client, name or
 * option. Sends nothing.
 *
 * @param name Names the limit in Redis and in the headers. Printable ASCII without `"` and `\`.
 */
export function limitRequests<Request extends LimitedRequest>(
  redis: RedisClient,
  name: string,
  options: RequestLimitOptions<Request>,
): LimitMiddleware<Request> {
  const limit = new RequestLimit(redis, name, options);
  const decide: Decide<Request> = async (request, response, next) => {
    try {
      if (isAnswered(response, await limit.decide(request))) return;
    } catch (error) {
      next(error);
      return;
    }
    next();
  };
  return (request, response, next) => void decide(request, response, next);
}

type Decide<Request extends LimitedRequest> = (
  ...args: Parameters<LimitMiddleware<Request>>
) => Promise<void>;

/** Writes the headers, and the answer to a refused request. */
function isAnswered(response: LimitedResponse, { headers, refusal }: Decision): boolean {
  for (const [header, value] of Object.entries(headers)) response.setHeader(header, value);
  if (!refusal) return false;
  response.statusCode = refusal.status;
  response.setHeader('content-type', PROBLEM_TYPE);
  response.end(refusal.body);
  return true;
}
