import { Controller, Get, Headers, HttpCode, HttpStatus, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { Problems } from '../http/problems.decorator.js';
import { EventServer } from '../messaging/live/event-server.js';
import type { StreamEvent } from '../messaging/live/forward-events.js';
import type { OpenTopics } from './topic-events.js';
import { TopicEvents } from './topic-events.js';
import type { Topic } from './topics.js';
import { decodeTokens, requireTopic, topicsQuery } from './topics.js';

@ApiTags('events')
@Controller('v1/events')
export class TopicEventsController {
  constructor(
    private readonly topics: TopicEvents,
    private readonly server: EventServer,
  ) {}

  @Get()
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Follow queues, members, mailboxes, caches, locks and more in one stream',
    description:
      'Server-sent events of all topics: `queue:<name>` needs the scope `queues:read`, `member:<name>` and `mailbox:<name>` ' +
      '`messaging:read`, `cache:<name>` `cache:read`, `lock:<name>` `locks:read`, `market` `market:read`, `overview` `queues:read`, ' +
      '`redis` `ops:read`. `data` is JSON with the `topic`; `id` continues all topics ' +
      'after the event, by `Last-Event-ID` or `after`. The first event is `open`. Events of queues are enqueued, started, succeeded, ' +
      'retrying, dead, cancelled, waiting, ready, rescheduled, reprioritized, changed, removed, progress, paused and resumed; those of members ' +
      'as of `/v1/members/{member}/events`; of a mailbox arrived, without the messages; of a cache stored, deleted and invalidated, by ' +
      'requests of this API; of the market listed, sold, withdrawn and expired. Topics of locks, of Redis and of the overview have the ' +
      'value of now and each change. `gap`: events of a queue were trimmed before they were read. ' +
      '`reset`: the topic goes on from now, since the event that was read last is not there any more, or may have been followed by others. ' +
      '`dropped`, with a `reason`, is the last event of a stream that the server ends.',
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
    'unknown-topic',
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
    for (const topic of topics) requireTopic(request.principal!, topic);
    const token = lastEventId || after;
    const tokens = token === undefined ? {} : decodeTokens(token, topics);
    await this.server.serve(request, reply, async (signal) =>
      withOpen(topics, await this.topics.open(topics, tokens, signal)),
    );
  }
}

async function* withOpen(
  topics: readonly Topic[],
  { token, events }: OpenTopics,
): AsyncGenerator<StreamEvent, void> {
  yield { type: 'open', topics: topics.map(({ text }) => text), token };
  yield* events;
}
