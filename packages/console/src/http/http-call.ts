/** A request and its response, from node:http, Express, NestJS or Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Parsed } from './json-body.js';
import { jsonBody } from './json-body.js';
import type { Problem } from './problem.js';

/** A request of node:http, of Express, or of Fastify. */
export type ConsoleRequest = IncomingMessage | { readonly raw: IncomingMessage; readonly body?: unknown };

/** A right of the sender. With `read` the page shows everything, and changes nothing. */
export type ConsoleRight = 'read' | 'change';

/** A response of node:http, of Express, or of Fastify. */
export type ConsoleResponse = ServerResponse | { readonly raw: ServerResponse; hijack: () => unknown };

/** No page shows an answer in a frame, and none loads anything. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export type Headers = Readonly<Record<string, string>>;

export class HttpCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As the framework of the host has it, for its own code. */
  readonly given: ConsoleRequest;
  readonly #hijack: (() => unknown) | undefined;

  constructor(given: ConsoleRequest, response: ConsoleResponse) {
    this.given = given;
    this.request = 'raw' in given ? given.raw : given;
    this.response = 'raw' in response ? response.raw : response;
    this.#hijack = 'raw' in response ? () => response.hijack() : undefined;
  }

  /** `HEAD` is a `GET` whose answer has no body. */
  get method(): string {
    const { method = 'GET' } = this.request;
    return method === 'HEAD' ? 'GET' : method;
  }

  /** The path and the query as the browser sent them. Express and middleware cut off the beginning of `url`. */
  get address(): string {
    const { originalUrl, url = '/' } = this.request as IncomingMessage & { originalUrl?: string };
    return originalUrl ?? url;
  }

  /** Takes the response over: Fastify sends nothing any more. */
  begin(status: number, headers: Headers): void {
    this.#hijack?.();
    for (const name of this.response.getHeaderNames()) {
      // The headers of the host stay, but no other page may read the answer.
      if (name.startsWith('access-control-')) this.response.removeHeader(name);
    }
    this.response.writeHead(status, { ...HEADERS, ...headers });
  }

  send(status: number, headers: Headers, body?: string | Buffer): void {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    this.begin(status, { ...headers, ...length });
    this.response.end(this.request.method === 'HEAD' ? undefined : body);
  }

  sendJson(status: number, body: unknown): void {
    if (body === undefined) this.send(status, {});
    else this.send(status, { 'content-type': 'application/json; charset=utf-8' }, JSON.stringify(body));
  }

  sendProblem(problem: Problem): void {
    const type = { 'content-type': 'application/problem+json; charset=utf-8' };
    this.send(problem.status, type, JSON.stringify(problem.toDocument()));
  }

  /** The JSON of the body; undefined without one. Throws problems. */
  body(): Promise<unknown> {
    return jsonBody(this.request, this.given as Parsed);
  }
}
