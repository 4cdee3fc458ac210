import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Problem } from '../problems/problem.js';
import { logIdsOf } from './request-trace.js';
import { challengeOf } from './challenge.js';
import type { CrossOriginHeaders } from './cross-origin.js';
import type { SecurityHeaders } from './security-headers.js';

declare module 'fastify' {
  interface FastifyInstance {
    securityHeaders: SecurityHeaders;
    crossOriginHeaders: CrossOriginHeaders;
  }
}

/** Seconds after which a client should retry, unless the problem has its own value. */
const RETRY_AFTER_S = 1;

/** Whether the answer says in `Retry-After` when the request may succeed. */
export function saysWhen({ slug, status }: Pick<Problem, 'slug' | 'status'>): boolean {
  return status === 503 || status === 429 || slug === 'lock-timeout' || slug === 'load-pending';
}

/** Answers with the problem's document, and logs errors of the server. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  const ids = { ...logIdsOf(request) };
  if (problem.slug === 'shutting-down') request.log.info(ids, problem.slug);
  // Such floods are no errors of the server, and a stack each would fill the log.
  else if (problem.slug.startsWith('too-many-')) request.log.warn(ids, problem.slug);
  else if (problem.status >= 500) request.log.error({ ...ids, err: problem.cause ?? problem }, problem.slug);
  if (saysWhen(problem)) {
    const { retryAfterMs, remainingMs } = problem.fields;
    const ms = Number(retryAfterMs ?? remainingMs ?? 0);
    reply.header('retry-after', Math.max(RETRY_AFTER_S, Math.ceil(ms / 1_000)));
  }
  const challenge = challengeOf(problem);
  if (challenge !== undefined) reply.header('www-authenticate', challenge);
  void reply
    .status(problem.status)
    .headers(headersOf(request))
    .type('application/problem+json')
    .send(JSON.stringify(problem.toDocument(request.id)));
}

/** The headers of every answer; Fastify runs no hooks for an address that it cannot decode. */
export function headersOf({ id, server, raw }: FastifyRequest): Record<string, string> {
  return {
    'x-request-id': id,
    ...server.securityHeaders(raw.url ?? ''),
    ...server.crossOriginHeaders(raw.headers),
  };
}
