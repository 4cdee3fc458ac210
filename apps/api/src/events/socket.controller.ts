import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';

import { Problems } from '../http/problems.decorator.js';
import { Problem } from '../problems/problem.js';

/** Answers requests at the address of the WebSocket that don't ask for one. */
@ApiTags('events')
@Controller('v1/ws')
export class SocketController {
  @Get()
  @ApiOperation({
    summary: 'Open a WebSocket',
    description:
      'The frames are JSON. `{"subscribe": member, "after": token}` names a member, and needs ' +
      '`messaging:write`. Then `{"post": {"chatId", "body", "id"}}`, `{"ack": {"chatId", "upToId", "epoch"}}` ' +
      'and `{"typing": chatId}` act in the name of this member. `{"follow": topic, "after": token}` follows a ' +
      'topic of `GET /v1/events`, which needs the same scope there, and `{"unfollow": topic}` ends that; up to ' +
      '10 at a time. Each frame is answered by `subscribed`, `posted`, `acked`, `typed`, `followed` with a ' +
      '`token`, `unfollowed`, or by `error` with a problem document, and with the `ref` that it had. Events ' +
      'come as `{"event": {"type", "chatId", …, "token"}}`, those of a topic with `topic`; their tokens ' +
      'continue this topic.',
  })
  @ApiResponse({ status: 101, description: 'The connection is a WebSocket.' })
  @Problems(
    'malformed-request',
    'foreign-origin',
    'upgrade-required',
    'too-many-streams',
    'quota-exceeded',
    'shutting-down',
  )
  openSocket(@Res({ passthrough: true }) reply: FastifyReply): never {
    reply.header('upgrade', 'websocket');
    throw new Problem('upgrade-required');
  }
}
