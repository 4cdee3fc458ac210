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
      'Sends server-sent events of several topics. A topic needs a scope: `queue:<name>`, `operation:<id>` and ' +
      '`overview` need `queues:read`, `member:<name>`, `mailbox:<name>` and `file-channel:<name>` need `messaging:read`, ' +
      '`cache:<name>` and `rows` need `cache:read`. `lock:<name>`, `semaphore:<name>`, ' +
      '`read-write-lock:<name>` and `rate-limiter:<name>` need `locks:read`, `locks`, `semaphores` and ' +
      '`rate-limiters` need `locks:admin`, `names:<kind>` needs `ops:read`, `market` needs `market:read`, and ' +
      '`redis` needs `ops:read`. `data` is JSON with the `topic`. To continue all topics after an event, send ' +
      'its `id` as `Last-Event-ID` or `after`. The first event is `open`. A task of a queue has the events ' +
      'enqueued, started, progress, delivered, succeeded, retrying, dead, cancelled, waiting, ready, ' +
      'rescheduled, reprioritized, changed and removed. A queue has paused and resumed. Members have the ' +
      'events of `/v1/members/{member}/events`. A mailbox has arrived, without the messages. A cache has ' +
      'stored, deleted and invalidated, for requests to this API. The market has listed, sold, withdrawn and ' +
      'expired. The topics of locks, lists, channels of files, bulk operations, cached rows, Redis and the overview send their ' +
      'present value, then each change. `gap` says that a queue trimmed events before you read them. `off` ' +
      'says that the events of a queue are off, and a session of a read-only console does not switch them on. ' +
      '`reset` says that the topic continues from now: your last event is gone, or others may have followed ' +
      'it. `dropped`, with a `reason`, is the last event of a stream that the server ends.',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The id of the last event that was handled. Browsers send this header by themselves.',
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
    'unknown-operation',
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
      withOpen(topics, await this.topics.open(topics, tokens, signal, request.principal!)),
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
