/** Streams of server-sent events. One follows its source as fast as its client reads, so a slow one costs little memory. */
import type { ServerResponse } from 'node:http';

import type { HttpCall } from '../http/http-call.js';
import { Problem } from '../http/problem.js';
import type { SentEvent } from './topics.js';

/** In one process. */
const MAX_STREAMS = 100;
const HIGH_WATER_BYTES = 65_536;
/** A client that does not read for this time has gone. */
const STALL_MS = 10_000;
const BEAT_MS = 15_000;
/** How soon a client comes back after the end. */
const RETRY_MS = 1_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

export class Streams {
  readonly #open = new Set<(reason: string) => void>();
  readonly #onError: (error: unknown) => void;
  #isStopped = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /**
   * Resolves when the stream has ended. Throws what `open` throws, and the problems `too-many-streams` and `shutting-down`.
   *
   * @param isAllowed Asked again all the time: a stream outlives the rights of its reader otherwise.
   */
  async serve(
    http: HttpCall,
    open: (signal: AbortSignal) => Promise<AsyncIterable<SentEvent>>,
    isAllowed: () => Promise<boolean>,
  ): Promise<void> {
    if (this.#isStopped) throw new Problem('shutting-down');
    if (this.#open.size >= MAX_STREAMS) throw new Problem('too-many-streams', '', { limit: MAX_STREAMS });
    const { response } = http;
    const controller = new AbortController();
    const { signal } = controller;
    const end = (reason: string): void => {
      if (!response.writableEnded && response.headersSent)
        response.end(`event: dropped\ndata: ${JSON.stringify({ reason })}\n\n`);
      controller.abort();
    };
    response.once('close', () => controller.abort());
    this.#open.add(end);
    const beat = setInterval(() => void this.#beat(response, isAllowed, end), BEAT_MS);
    try {
      const events = await open(signal);
      if (signal.aborted) return;
      http.begin(200, HEADERS);
      response.write(`retry: ${RETRY_MS}\n\n`);
      for await (const event of events) {
        const { token, ...data } = event;
        response.write(`id: ${token}\nevent: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`);
        if (response.writableLength > HIGH_WATER_BYTES) await hasRoom(response);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!response.headersSent) throw error;
      this.#onError(error);
      end('internal-error');
    } finally {
      clearInterval(beat);
      this.#open.delete(end);
      controller.abort();
    }
  }

  /** Ends all streams. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#open) end('shutting-down');
  }

  async #beat(
    response: ServerResponse,
    isAllowed: () => Promise<boolean>,
    end: (reason: string) => void,
  ): Promise<void> {
    try {
      if (!(await isAllowed())) return end('not-authorized');
      if (response.headersSent && response.writableLength === 0) response.write(':\n\n');
    } catch (error) {
      this.#onError(error);
      end('internal-error');
    }
  }
}

/** Resolves when the client has read what was sent, or has gone. */
function hasRoom(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), STALL_MS);
    const settle = (): void => {
      clearTimeout(timer);
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });
}
