import { Controller, Get, Headers, HttpCode, HttpStatus, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import { eventsQuery } from '../chat-schemas.js';
import { Name } from '../../http/id.decorator.js';
import { Problems } from '../../http/problems.decorator.js';
import { EventServer } from './event-server.js';
import { openEvents } from './open-events.js';
import { TenantChats } from '../tenant-messaging.js';

@ApiTags('members')
@Controller('v1/members/:member/events')
export class EventsController {
  constructor(
    private readonly chats: TenantChats,
    private readonly server: EventServer,
  ) {}

  @Get()
  @HttpCode(HttpStatus.OK)
  @ApiOperation({
    summary: 'Follow all chats of a member',
    description:
      'Sends server-sent events, beginning with unread messages, or after the event of `after` or ' +
      '`Last-Event-ID`. No event is lost, and none comes twice. `event` is message, edit, delete, gap, reset, ' +
      'joined, left, ended, typing or presence, `data` is JSON, `id` is the token that continues after the ' +
      'event. Messages and gaps have the `epoch` to ack them with; with `includeUnread` these, edits and ' +
      'deletions also have `unread`: the unread messages of the chat. `dropped`, with a `reason`, is the last ' +
      'event of a stream that the server ends. The stream acks nothing.',
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
    const token = lastEventId || after;
    const options = { includeMuted, includeUnread, ...(token !== undefined && { after: token }) };
    await this.server.serve(request, reply, (signal) =>
      openEvents(this.chats.current, member, { ...options, signal }),
    );
  }
}
