import type { OutgoingHttpHeaders } from 'node:http';

import type { ChatEvents } from '@mortise/messaging';
import { Controller, Get, Headers, HttpCode, HttpStatus, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { z } from 'zod';

import { eventsQuery } from '../chat-schemas.js';
import type { Config } from '../../config.js';
import { Name } from '../../http/id.decorator.js';
import { Problems } from '../../http/problems.decorator.js';
import { CONFIG, LOG } from '../../tokens.js';
import { EventStream } from './event-stream.js';
import { forwardEvents } from './forward-events.js';
import { LiveStreams } from './live-streams.js';
import { openEvents } from './open-events.js';
import { TenantChats } from '../tenant-messaging.js';
import { Origins } from '../../http/origins.js';

@ApiTags('members')
@Controller('v1/members/:member/events')
export class EventsController {
  constructor(
    private readonly chats: TenantChats,
    private readonly streams: LiveStreams,
    private readonly origins: Origins,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  @Get()
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Follow all chats of a member',
    description:
      'Server-sent events, beginning with unread messages, or after the event of `after` or `Last-Event-ID`: none is ' +
      'lost, none comes twice. `event` is message, edit, delete, gap, reset, joined, left, ended, typing or presence, ' +
      '`data` is JSON, `id` is the token that continues after the event. Messages and gaps have the `epoch` to ack them with; with ' +
      '`includeUnread` these, edits and deletions also have `unread`: the unread messages of the chat. `dropped`, ' +
      'with a `reason`, is the last one of a stream that the server ends. Acks nothing.',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The id of the last event that was handled; browsers send it by themselves.',
    schema: { type: 'string' },
  })
  @ApiResponse({
    status: 200,
    description: 'Events, as they happen.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  })
  @Problems(
    'invalid-id',
    'invalid-query',
    'invalid-token',
    'foreign-origin',
    'too-many-streams',
    'quota-exceeded',
    'shutting-down',
  )
  async followMember(
    @Name('member') member: string,
    @Query({ schema: eventsQuery }) { after, includeMuted, includeUnread }: z.infer<typeof eventsQuery>,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const origin = this.origins.require(request.headers);
    await this.streams.requireRoomFor(request.principal!.tenant);
    const controller = new AbortController();
    const { signal } = controller;
    reply.raw.once('close', () => controller.abort());
    const token = lastEventId || after;
    const options = { includeMuted, includeUnread, signal, ...(token !== undefined && { after: token }) };
    const events = await openEvents(this.chats.current, member, options);
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
    // The interceptor waits only until the stream has begun.
    void this.#serve(stream, events, signal, request.id);
  }

  async #serve(stream: EventStream, events: ChatEvents, signal: AbortSignal, reqId: string): Promise<void> {
    const reason = await forwardEvents(events, stream, signal, (err) =>
      this.log.error({ err, reqId }, 'events'),
    );
    if (reason) stream.end(reason);
  }
}
