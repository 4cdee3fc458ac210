import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import type { OnApplicationBootstrap } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Tracing } from '@mortise/app-common/tracing';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';

import { Authentication } from '../callers/authentication.js';
import type { Principal } from '../callers/principal.js';
import { Redaction } from '../callers/redaction.js';
import type { Config } from '../config.js';
import { challengeOf } from '../http/challenge.js';
import { linesOf, messageOf } from '../http/client-error.js';
import { securityHeadersOf } from '../http/security-headers.js';
import { Connections } from '../http/connections.js';
import { requireSoundHead } from '../http/request-head.js';
import { requestId } from '../http/request-id.js';
import { RequestLimits } from '../limits/request-limits.js';
import { Usage } from '../limits/usage.js';
import { problemOf } from '../problems/problem-of.js';
import { Problem } from '../problems/problem.js';
import { inTenant } from '../tenants/tenancy.js';
import { CONFIG, LOG, TRACING } from '../tokens.js';
import { MAX_FRAME_BYTES } from './frames.js';
import { LiveStreams } from '../messaging/live/live-streams.js';
import { Origins } from '../http/origins.js';
import { TenantChats } from '../messaging/tenant-messaging.js';
import { SocketSession } from './socket-session.js';
import { TopicEvents } from './topic-events.js';

const ROUTE = '/v1/ws';

/** Accepts the requests that become WebSockets: those that `ApiRequest` lets pass. */
@Injectable()
export class SocketServer implements OnApplicationBootstrap {
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly streams: LiveStreams,
    private readonly origins: Origins,
    private readonly connections: Connections,
    private readonly authentication: Authentication,
    private readonly redaction: Redaction,
    private readonly chats: TenantChats,
    private readonly topics: TopicEvents,
    private readonly limits: RequestLimits,
    private readonly usage: Usage,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
    @Inject(TRACING) private readonly tracing: Tracing | undefined,
  ) {
    // An invalid handshake.
    this.#server.on('wsClientError', (error, socket, request) => {
      this.#refuse(socket, new Problem('malformed-request', error.message), requestId(request));
    });
  }

  onApplicationBootstrap(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#onUpgrade(request, socket, head);
    });
  }

  async #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const reqId = requestId(request);
    // Node has released the connection: without a listener, a reset would end the process.
    const leave = (): void => void socket.destroy();
    socket.on('error', leave);
    let principal: Principal;
    try {
      this.connections.requireRoom();
      requireSoundHead(request);
      this.origins.requireOwn('POST', request.headers);
      principal = await this.authentication.require(request.headers);
      const { tenant } = principal;
      await inTenant(tenant, () => this.streams.requireRoomFor(tenant));
    } catch (error) {
      this.#refuse(socket, problemOf(error), reqId);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off('error', leave);
      this.#open(webSocket, request, reqId, principal);
    });
  }

  #open(webSocket: WebSocket, request: IncomingMessage, reqId: string, principal: Principal): void {
    const { limits, usage, log, streams, topics, tracing } = this;
    const { traceparent, tracestate } = request.headers;
    const outside = { traceparent, tracestate };
    const { keyId, tenant } = principal;
    const chats = this.chats.of(tenant);
    const startedAt = performance.now();
    const timeoutMs = this.config.STREAM_TIMEOUT_MS;
    const session = new SocketSession(webSocket, {
      connection: request.socket,
      chats,
      topics,
      principal,
      shown: (event) => this.redaction.shownIn(event, principal),
      limits,
      usage,
      log: log.child({ reqId, tenant }),
      timeoutMs,
      reqId,
      trace: (frame) => tracing?.request({ method: 'GET', route: ROUTE, headers: outside, frame }),
    });
    streams.add(session, principal);
    webSocket.once('close', (code) => {
      streams.remove(session);
      const ms = Math.round((performance.now() - startedAt) * 10) / 10;
      log.info({ reqId, tenant, route: ROUTE, code, ms, keyId }, 'socket');
    });
  }

  /** No reply object exists: Node has released the connection. */
  #refuse(socket: Duplex, problem: Problem, reqId: string): void {
    socket.on('error', () => socket.destroy());
    if (problem.status >= 500) this.log.error({ err: problem.cause ?? problem, reqId }, problem.slug);
    const challenge = challengeOf(problem);
    const headers = [
      ...linesOf(securityHeadersOf(this.config)('')),
      ...(problem.status === 503 ? ['retry-after: 1'] : []),
      ...(challenge === undefined ? [] : [`www-authenticate: ${challenge}`]),
    ];
    socket.end(messageOf(problem, reqId, headers), () => socket.destroy());
  }
}
