/** A program that uses several API processes over HTTP, and repeats what had no answer under the same Idempotency-Key. */
import { setTimeout as pause } from 'node:timers/promises';
import { nowUs } from '../locks/clock.js';

/** A JSON document of the API. */
// oxlint-disable-next-line typescript/no-explicit-any -- documents of all kinds
type Document = any;

export interface Answer {
  readonly status: number;
  readonly document: Document;
  /** When the first request for it began, µs. */
  readonly calledAt: number;
  /** When it came, µs. */
  readonly answeredAt: number;
}

interface Options {
  readonly body?: object;
  /** A file, in place of a body. */
  readonly bytes?: Buffer;
  readonly requestKey?: string;
}

const TIMEOUT_MS = 40_000;
/** Longer than any fault. */
const MOST_MS = 90_000;
const PAUSE_MS = 50;
/** The same request may succeed later. */
const TEMPORARY = new Set([429, 503]);

export class ServiceClient {
  /** Answers and errors for which requests were repeated, and how often each came. */
  readonly repeats = new Map<string, number>();
  readonly #addresses: readonly string[];
  readonly #headers: Readonly<Record<string, string>>;
  #requests = 0;
  #isClosed = false;

  constructor(addresses: readonly string[], key: string) {
    this.#addresses = addresses;
    this.#headers = { authorization: `Bearer ${key}` };
  }

  /** No request is repeated any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** One request, to each API in turn. Rejects when it has no answer. */
  async send(method: string, path: string, { body, bytes, requestKey }: Options = {}): Promise<Answer> {
    this.#requests += 1;
    const address = this.#addresses[this.#requests % this.#addresses.length]!;
    const calledAt = nowUs();
    const response = await fetch(`${address}/v1/${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(bytes !== undefined && { 'content-type': 'application/octet-stream' }),
        ...(requestKey !== undefined && { 'idempotency-key': requestKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(bytes !== undefined && { body: bytes }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const document: Document = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, document, calledAt, answeredAt: nowUs() };
  }

  /** Repeats the request until an API answers and Redis is there. */
  async ask(method: string, path: string, options: Options = {}): Promise<Answer> {
    const calledAt = nowUs();
    for (;;) {
      const answer = await this.send(method, path, options).catch((error: Error) => error);
      const reason = reasonToRepeat(answer);
      if (reason === undefined) return { ...(answer as Answer), calledAt };
      this.repeats.set(reason, (this.repeats.get(reason) ?? 0) + 1);
      if (this.#isClosed || nowUs() - calledAt > MOST_MS * 1_000)
        throw new Error(`${method} ${path}: ${reason}`);
      await pause(PAUSE_MS);
    }
  }

  /** As `ask`; throws for a refusal. */
  async get(method: string, path: string, options: Options = {}): Promise<Answer> {
    const answer = await this.ask(method, path, options);
    if (answer.status < 300) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.document)}`);
  }

  /** All items of a list. */
  async list(path: string): Promise<Document[]> {
    const items: Document[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? 'limit=200' : `limit=200&cursor=${cursor}`;
      const { document } = await this.get('GET', `${path}?${query}`);
      items.push(...document.items);
      cursor = document.nextCursor;
    }
    return items;
  }
}

/** The name of a problem, such as `lock-timeout`. */
export function slugOf({ document }: Answer): string {
  return String(document?.type).split('/').at(-1)!;
}

function reasonToRepeat(answer: Answer | Error): string | undefined {
  if (answer instanceof Error) {
    const { code } = (answer.cause ?? {}) as { code?: string };
    return code ?? answer.message;
  }
  return TEMPORARY.has(answer.status) ? slugOf(answer) : undefined;
}
