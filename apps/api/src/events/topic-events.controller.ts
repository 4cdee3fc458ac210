import type { OutgoingHttpHeaders } from 'node:http';

import { Controller, Get, Headers, HttpCode, HttpStatus, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { z } from 'zod';

import { requireScope, requireSubject } from '../callers/principal.js';
import type { Principal } from '../callers/principal.js';
import type { Config } from '../config.js';
import { Origins } from '../http/origins.js';
import { Problems } from '../http/problems.decorator.js';
import { EventStream } from '../messaging/live/event-stream.js';
import { forwardEvents } from '../messaging/live/forward-events.js';
import { LiveStreams } from '../messaging/live/live-streams.js';
import { CONFIG, LOG } from '../tokens.js';
import { TopicEvents } from './topic-events.js';
import type { Topic } from './topics.js';
import { decodeTokens, topicsQuery } from './topics.js';

@ApiTags('events')
@Controller('v1/events')
export class TopicEventsController {
  constructor(
    private readonly topics: TopicEvents,
    private readonly streams: LiveStreams,
    private readonly origins: Origins,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  @Get()
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Follow queues and members in one stream',
    description:
      'Server-sent events of all topics: `queue:<name>` needs the scope `queues:read`, `member:<name>` `messaging:read`. `data` is JSON ' +
      'with the `topic`; `id` continues all topics after the event, by `Last-Event-ID` or `after`. The first event is `open`. Events of ' +
      'queues are enqueued, started, succeeded, retrying, dead, cancelled, waiting, ready, removed, progress, paused and resumed; those of ' +
      'members as of `/v1/members/{member}/events`. `gap`: events of a queue were trimmed before they were read. `reset`: the topic goes on ' +
      'from now, since what was read last is not there any more. `dropped`, with a `reason`, is the last event of a stream that the ' +
      'server ends.',
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
    'invalid-query',
    'invalid-token',
    'scope-missing',
    'subject-mismatch',
    'unknown-queue',
    'foreign-origin',
    'too-many-streams',
    'quota-exceeded',
    'shutting-down',
  )
  async followTopics(
    @Query({ schema: topicsQuery }) { topics, after }: z.infer<typeof topicsQuery>,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const principal = request.principal!;
    for (const topic of topics) requireTopic(principal, topic);
    const origin = this.origins.require(request.headers);
    await this.streams.requireRoomFor(principal.tenant);
    const controller = new AbortController();
    const { signal } = controller;
    reply.raw.once('close', () => controller.abort());
    const token = lastEventId || after;
    const tokens = token === undefined ? {} : decodeTokens(token, topics);
    const events = await this.topics.open(topics, tokens, signal);
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
    this.streams.add(stream, principal);
    // A client that closes its side during a stream has gone; no other signal shows it.
    const leave = (): void => void reply.raw.destroy();
    socket.once('end', leave);
    reply.raw.once('close', () => {
      socket.off('end', leave);
      this.streams.remove(stream);
    });
    const { id: reqId } = request;
    // The interceptor waits only until the stream has begun.
    void forwardEvents(events, stream, signal, (err) => this.log.error({ err, reqId }, 'events')).then(
      (reason) => reason && stream.end(reason),
    );
  }
}

/** Throws the problems `scope-missing` and `subject-mismatch`. */
function requireTopic(principal: Principal, { kind, name }: Topic): void {
  requireScope(principal, kind === 'queue' ? 'queues:read' : 'messaging:read');
  if (kind === 'member') requireSubject(principal, name);
}
