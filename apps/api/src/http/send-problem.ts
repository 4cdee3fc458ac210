import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Problem } from '../problems/problem.js';

/** Seconds after which a client may well come again, unless the problem says. */
const RETRY_AFTER_S = 1;

/** Answers with the problem's document, and logs what the server is to blame for. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  if (problem.status >= 500) request.log.error({ err: problem.cause ?? problem }, problem.slug);
  if (problem.status === 503 || problem.status === 429) {
    const ms = Number(problem.fields['retryAfterMs'] ?? 0);
    reply.header('retry-after', Math.max(RETRY_AFTER_S, Math.ceil(ms / 1_000)));
  }
  void reply
    .status(problem.status)
    .headers(headersOf(request))
    .type('application/problem+json')
    .send(JSON.stringify(problem.toDocument(request.id)));
}

/** What every answer carries; Fastify answers an address that it cannot decode without running hooks. */
export function headersOf({ id }: FastifyRequest): Record<string, string> {
  return { 'x-request-id': id, 'x-content-type-options': 'nosniff' };
}
