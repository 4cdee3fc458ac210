/** A request and its response, from node:http, Express, NestJS or Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http';

import { Problem } from './problem.js';

/** A request of node:http, of Express, or of Fastify. */
export type ConsoleRequest = IncomingMessage | { readonly raw: IncomingMessage; readonly body?: unknown };

/** A response of node:http, of Express, or of Fastify. */
export type ConsoleResponse = ServerResponse | { readonly raw: ServerResponse; hijack: () => unknown };

const MAX_BODY_BYTES = 1_048_576;
const utf8 = new TextDecoder('utf-8', { fatal: true });

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
  async body(): Promise<unknown> {
    const {
      'content-type': type,
      'content-length': length,
      'transfer-encoding': coding,
    } = this.request.headers;
    if (coding === undefined && (length === undefined || length === '0')) return undefined;
    // A form of another page could send any other type.
    if (!/^application\/json(?:\s*;|$)/i.test(type ?? '')) throw new Problem('unsupported-media-type');
    // The host has read it already.
    const { body } = this.given as { readonly body?: unknown };
    if (body !== undefined) return body;
    const text = await this.#text();
    if (text === '') return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new Problem('malformed-json');
    }
  }

  async #text(): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      // A destroyed request would take the answer with it.
      const body = this.request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw new Problem('malformed-request', '', {}, { cause: error });
    }
    if (bytes > MAX_BODY_BYTES) throw new Problem('body-too-large', `more than ${MAX_BODY_BYTES} bytes`);
    try {
      return utf8.decode(Buffer.concat(chunks));
    } catch {
      throw new Problem('malformed-json');
    }
  }
}
