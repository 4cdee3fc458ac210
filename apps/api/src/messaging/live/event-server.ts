import type { OutgoingHttpHeaders } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import type { Config } from '../../config.js';
import { Redaction } from '../../callers/redaction.js';
import { Origins } from '../../http/origins.js';
import { CONFIG, LOG } from '../../tokens.js';
import { EventStream } from './event-stream.js';
import type { Outlet, StreamEvent } from './forward-events.js';
import { forwardEvents } from './forward-events.js';
import { LiveStreams } from './live-streams.js';

type Sent = Pick<StreamEvent, 'type' | 'token'>;

/** Answers requests with server-sent events. */
@Injectable()
export class EventServer {
  constructor(
    private readonly streams: LiveStreams,
    private readonly origins: Origins,
    private readonly redaction: Redaction,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /**
   * Resolves when the stream has begun; the events go on after that. Throws what `open` throws, and the problems `foreign-origin`,
   * `too-many-streams`, `quota-exceeded` and `shutting-down`.
   *
   * @param open Subscribes. Its signal is aborted when the client has gone.
   */
  async serve(
    request: FastifyRequest,
    reply: FastifyReply,
    open: (signal: AbortSignal) => Promise<AsyncIterable<Sent>>,
  ): Promise<void> {
    const origin = this.origins.require(request.headers);
    await this.streams.requireRoomFor(request.principal!.tenant);
    const controller = new AbortController();
    const { signal } = controller;
    reply.raw.once('close', () => controller.abort());
    const events = await open(signal);
    // The deadline has answered, or the client has gone.
    const { socket } = request.raw;
    if (reply.sent || signal.aborted || socket.readableEnded) return;
    this.streams.requireRoom();
    reply.hijack();
    const headers = {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      ...(origin !== undefined && { 'access-control-allow-origin': origin, vary: 'origin' }),
    };
    const timeoutMs = this.config.STREAM_TIMEOUT_MS;
    const stream = new EventStream(reply.raw, { headers, timeoutMs, closed: controller });
    if (request.method === 'HEAD') {
      reply.raw.end();
      return;
    }
    this.streams.add(stream, request.principal!);
    // A client that closes its side during a stream has gone; no other signal shows it.
    const leave = (): void => void reply.raw.destroy();
    socket.once('end', leave);
    reply.raw.once('close', () => {
      socket.off('end', leave);
      this.streams.remove(stream);
    });
    void this.#forward(stream, events, signal, request);
  }

  async #forward(
    stream: EventStream,
    events: AsyncIterable<Sent>,
    signal: AbortSignal,
    { id: reqId, principal }: FastifyRequest,
  ): Promise<void> {
    const outlet: Outlet<Sent> = {
      write: (event) => stream.write(this.redaction.shownIn(event, principal)),
    };
    const reason = await forwardEvents(events, outlet, signal, (err) =>
      this.log.error({ err, reqId }, 'events'),
    );
    if (reason) stream.end(reason);
  }
}
