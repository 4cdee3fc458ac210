/**
 * Answers requests that Node doesn't pass to Fastify: bytes that are not HTTP, requests that didn't arrive in time, and
 * CONNECT. No reply object exists, so the answer goes to the socket, and the socket ends. A client may have sent other
 * requests before, even in the same packet: these are carried out, so their answers go first.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { v7 as uuid } from 'uuid';

import type { ProblemSlug } from '../problems/catalogue.js';
import { Problem } from '../problems/problem.js';
import { requestId } from './request-id.js';

const SLUGS: Readonly<Record<string, ProblemSlug>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

export class ClientErrors {
  /** The responses of each connection that aren't finished; with pipelining there are several. */
  readonly #open = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #ending = new WeakSet<Socket>();
  readonly #headers: readonly string[];

  /** @param headers Of every answer. */
  constructor(headers: Readonly<Record<string, string>>) {
    this.#headers = linesOf(headers);
  }

  /** Called once, before the server listens. */
  watch(server: Server): void {
    // A client that ends its side after the last request still reads; Node would cut it off before the answer.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.prependListener('request', (request, response) => this.#add(request, response));
    // Node would answer 417 without a body; as a request like any other it gets the problem of request-head.ts.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (request) => {
      // Node has let go of the socket: without a listener, a reset would end the process.
      request.socket.on('error', () => request.socket.destroy());
      const problem = new Problem('method-not-allowed', undefined, { allowed: [] });
      void this.#end(request.socket, problem, requestId(request), ['allow: ']);
    });
  }

  /** Listens to `clientError`, which comes once more for each packet after the first that cannot be parsed. */
  readonly answer = (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed || this.#ending.has(socket)) return;
    void this.#end(socket, new Problem(SLUGS[error.code ?? ''] ?? 'malformed-request'), uuid());
  };

  #add({ socket }: IncomingMessage, response: ServerResponse): void {
    const open = this.#open.get(socket) ?? new Set();
    this.#open.set(socket, open.add(response));
    response.once('close', () => open.delete(response));
  }

  async #end(socket: Socket, problem: Problem, instance: string, headers: string[] = []): Promise<void> {
    this.#ending.add(socket);
    const open = [...(this.#open.get(socket) ?? [])];
    // The request with the incomplete body would wait forever; the others are answered within a second.
    const answered = open.filter(({ req, headersSent }) => req.complete || headersSent);
    await Promise.all(answered.map((response) => new Promise((resolve) => response.once('close', resolve))));
    const hasAnswer = open.some(({ req, headersSent }) => !req.complete && headersSent);
    if (socket.writable && !hasAnswer)
      socket.write(messageOf(problem, instance, [...this.#headers, ...headers]));
    socket.destroySoon();
  }
}

/** The lines of a head. */
export function linesOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

/** A whole answer, for a socket that no server reads. */
export function messageOf(problem: Problem, instance: string, headers: readonly string[]): string {
  const body = JSON.stringify(problem.toDocument(instance));
  const head = [
    `HTTP/1.1 ${problem.status} Problem`,
    'content-type: application/problem+json',
    `x-request-id: ${instance}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...headers,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
