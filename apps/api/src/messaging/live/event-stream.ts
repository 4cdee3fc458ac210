import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import type { ChatEvent } from '@mortise/messaging';

import { cutMsOf } from './cut.js';
import type { EndReason, LiveStream } from './live-streams.js';
import type { Outlet } from './pump.js';

/** A client that is told to comes again after so long, ms. */
const RETRY_MS = 1_000;
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A response of server-sent events. The id of each event is its token: with it a client goes on behind the event. */
export class EventStream implements LiveStream, Outlet {
  readonly #response: ServerResponse;
  #isOver = false;

  /** Writes the head. */
  constructor(response: ServerResponse, headers: OutgoingHttpHeaders) {
    this.#response = response;
    response.writeHead(200, { ...headers, ...HEADERS });
    response.write(`retry: ${RETRY_MS}\n\n`);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  write({ token, ...event }: ChatEvent, onFlushed: () => void): void {
    if (this.#isOver) return;
    const text = `id: ${token}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    this.#response.write(text, () => onFlushed());
  }

  beat(): void {
    // What waits for a client that takes nothing is sign enough.
    if (!this.#isOver && this.#response.writableLength === 0) this.#response.write(':\n\n');
  }

  end(reason: EndReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.end(`event: dropped\ndata: ${JSON.stringify({ reason })}\n\n`);
    const cut = setTimeout(() => this.#response.destroy(), cutMsOf(reason));
    this.#response.once('close', () => clearTimeout(cut));
  }
}
