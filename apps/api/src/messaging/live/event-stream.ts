import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import { closeTimeoutMs } from './close-timeout.js';
import type { EndReason, LiveStream } from './live-streams.js';
import { ClientTimeout } from './client-timeout.js';
import type { Outlet, StreamEvent } from './forward-events.js';
import { HIGH_WATER_BYTES } from './forward-events.js';

/** When a client reconnects after the end of its stream, ms. */
const RETRY_MS = 1_000;
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

export interface EventStreamOptions {
  readonly headers: OutgoingHttpHeaders;
  /** How long the client may take to read `STEP_BYTES`, ms. */
  readonly timeoutMs: number;
  /** Aborted when the stream is over. */
  readonly closed: AbortController;
}

/** A response of server-sent events. The id of each event is its resume token. */
export class EventStream implements LiveStream, Outlet<Pick<StreamEvent, 'type' | 'token'>> {
  readonly #response: ServerResponse;
  readonly #closed: AbortController;
  readonly #timeout: ClientTimeout;
  #sentBytes = 0;
  #onRoom: (() => void) | undefined;
  #isOver = false;

  /** Writes the head. */
  constructor(response: ServerResponse, { headers, timeoutMs, closed }: EventStreamOptions) {
    this.#response = response;
    this.#closed = closed;
    this.#timeout = new ClientTimeout(timeoutMs, () => this.end('too-slow'));
    response.writeHead(200, { ...headers, ...HEADERS });
    response.write(`retry: ${RETRY_MS}\n\n`);
    response.once('close', () => this.#leave());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  write({ token, ...event }: Pick<StreamEvent, 'type' | 'token'>): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#send(`id: ${token}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (this.#response.writableLength <= HIGH_WATER_BYTES) return undefined;
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  beat(): void {
    // Unread output already shows that the connection lives.
    if (!this.#isOver && this.#response.writableLength === 0) this.#send(':\n\n');
  }

  end(reason: EndReason): void {
    if (this.#isOver) return;
    this.#leave();
    this.#response.end(`event: dropped\ndata: ${JSON.stringify({ reason })}\n\n`);
    const cut = setTimeout(() => this.#response.destroy(), closeTimeoutMs(reason));
    this.#response.once('close', () => clearTimeout(cut));
  }

  #send(text: string): void {
    this.#sentBytes += Buffer.byteLength(text);
    this.#response.write(text, () => this.#onFlushed());
    if (!this.#timeout.isRunning) this.#timeout.begin(this.#sentBytes);
  }

  /** The client has read something. */
  #onFlushed(): void {
    if (this.#isOver) return;
    const { writableLength } = this.#response;
    if (writableLength === 0) this.#timeout.stop();
    // The buffer of the system holds at most what was sent before.
    else this.#timeout.begin(this.#sentBytes);
    if (writableLength <= HIGH_WATER_BYTES) this.#onRoom?.();
  }

  #leave(): void {
    this.#isOver = true;
    this.#timeout.stop();
    this.#closed.abort();
    this.#onRoom?.();
  }
}
