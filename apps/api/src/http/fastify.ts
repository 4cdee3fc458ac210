import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import type { Tracing } from '@mortise/app-common/tracing';

import type { Config } from '../config.js';
import { problemOf } from '../problems/problem-of.js';
import { Problem } from '../problems/problem.js';
import { ApiRequest } from './api-request.js';
import type { BodyConfig } from './body-config.js';
import { limitBodyTime } from './body-time.js';
import { ClientErrors } from './client-error.js';
import type { Connections } from './connections.js';
import { answerPreflights, crossOriginHeadersOf } from './cross-origin.js';
import { MAX_BODY_BYTES, parseJsonBody } from './json-body.js';
import { Origins } from './origins.js';
import { requirePlainBody, requireSoundHead } from './request-head.js';
import { requestId } from './request-id.js';
import { logIdsOf, traceRequests } from './request-trace.js';
import type { RouteMethods } from './route-methods.js';
import { securityHeadersOf } from './security-headers.js';
import { headersOf, sendProblem } from './send-problem.js';

/** A client that sends slowly is cut off. */
const HEADERS_TIMEOUT_MS = 5_000;

/** They are answered whatever the number of connections. */
const PROBES = /^\/health\//;

/** Longer than any address that fits into the head of a request, so the schema of a route checks its ids. */
const MAX_PARAM_LENGTH = 16_384;

/**
 * Fastify with the settings of the API: JSON only, except for uploads; each refusal is a problem; each request logs one
 * line.
 */
export function createAdapter(
  config: Config,
  log: Logger,
  methods: RouteMethods,
  connections: Connections,
  tracing?: Tracing,
): FastifyAdapter {
  const securityHeaders = securityHeadersOf(config);
  const origins = new Origins(config);
  const clientErrors = new ClientErrors(securityHeaders(''));
  const adapter = new FastifyAdapter({
    loggerInstance: log.child({}, { level: log.isLevelEnabled('warn') ? 'warn' : log.level }),
    // Not one more logger for each request: lines get their ids from its context.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    genReqId: requestId,
    bodyLimit: MAX_BODY_BYTES,
    // In its place, see body-time.ts.
    requestTimeout: 0,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      IncomingMessage: ApiRequest,
    },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false,
    clientErrorHandler: clientErrors.answer,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      sendProblem(request, reply, problemOf(error));
    },
  });
  const server = adapter.getInstance();
  server.decorate('securityHeaders', securityHeaders);
  server.decorate('crossOriginHeaders', crossOriginHeadersOf(config));
  clientErrors.watch(server.server);
  connections.watch(server.server);
  // 16 KiB bound them, and requireSoundHead counts them. Node would leave out those beyond.
  server.server.maxHeadersCount = 0;
  server.addHook('onRoute', (route) => {
    methods.add(route);
    const { maxBodyBytes } = (route.config ?? {}) as BodyConfig;
    if (maxBodyBytes !== undefined) route.bodyLimit = maxBodyBytes;
  });
  traceRequests(server, tracing);
  // Before anything that refuses: the rest of a refused body may never come.
  limitBodyTime(server, clientErrors.answer);
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOf(request));
    if (!PROBES.test(request.url)) requireRoom(connections, reply);
    requireSoundHead(request.raw);
    origins.requireOwn(request.method, request.headers);
  });
  answerPreflights(server, methods);
  // After the hooks that check the credential.
  server.addHook('preParsing', async (request) => {
    if (takesStream(request)) requireStream(request);
    else requirePlainBody(request.headers);
  });
  server.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request;
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { keyId } = request.principal ?? {};
    log.info(
      { ...logIdsOf(request), method, route: routeOptions.url, status: reply.statusCode, ms, keyId },
      'request',
    );
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/octet-stream', async (request: FastifyRequest) => {
    if (!takesStream(request)) throw new Problem('unsupported-media-type');
  });
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) =>
      // The schema of a route decides whether a body is required.
      body.length === 0 ? undefined : parseJsonBody(body),
  );
  return adapter;
}

function requireRoom(connections: Connections, reply: FastifyReply): void {
  try {
    connections.requireRoom();
  } catch (error) {
    reply.header('connection', 'close');
    throw error;
  }
}

function takesStream({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as BodyConfig | undefined)?.takesStream === true;
}

/** Runs before Fastify would parse a body of another type as JSON. */
function requireStream({ headers }: FastifyRequest): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const coding = headers['content-encoding'] ?? 'identity';
  if (type.trim().toLowerCase() === 'application/octet-stream' && coding === 'identity') return;
  throw new Problem('unsupported-media-type', 'must be application/octet-stream, without a coding');
}
