/**
 * The context of a request: its ids in each log line, and its span. Hooks enter it twice, because what reads a body belongs to the
 * connection, not to the request.
 */
import { withLogIds } from '@mortise/app-common/log';
import type { LogIds } from '@mortise/app-common/log';
import { traceIdOf } from '@mortise/app-common/tracing';
import type { RequestSpan, Tracing } from '@mortise/app-common/tracing';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** They would be most of all traces. */
const UNTRACED = /^\/health\//;

interface Context {
  readonly ids: LogIds;
  readonly span: RequestSpan | undefined;
}

const contexts = new WeakMap<FastifyRequest, Context>();

/** Lets each request run in its context. Registered before all other hooks. */
export function traceRequests(server: FastifyInstance, tracing: Tracing | undefined): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { method, headers, is404, routeOptions, url } = request;
    const route = is404 ? undefined : routeOptions.url;
    const span = UNTRACED.test(url) ? undefined : tracing?.request({ method, route, headers });
    // Also for an answer that breaks off, or that is a stream.
    if (span) reply.raw.once('close', () => span.end(reply.raw.statusCode));
    contexts.set(request, { ids: idsOf(request, span?.traceId), span });
    enter(request, done);
  });
  server.addHook('preValidation', (request, _reply, done) => enter(request, done));
}

/** For lines outside of the context: at the end of an answer, and where a body is refused. */
export function logIdsOf(request: FastifyRequest): LogIds {
  // Fastify runs no hooks for an address that it cannot decode.
  return contexts.get(request)?.ids ?? idsOf(request);
}

function idsOf(request: FastifyRequest, traceId = traceIdOf(request.headers)): LogIds {
  return {
    reqId: request.id,
    get tenant() {
      return request.principal?.tenant;
    },
    traceId,
  };
}

function enter(request: FastifyRequest, done: () => void): void {
  const { ids, span } = contexts.get(request)!;
  withLogIds(ids, span ? () => span.run(done) : done);
}
