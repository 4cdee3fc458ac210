/** Chats and their members. */
import { createHash } from 'node:crypto';

import { Body, Controller, Delete, Get, HttpStatus, Post, Put, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { CreateResult, JoinResult } from '@mortise/messaging';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing, Creates } from '../http/answers.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { senderIdOf } from '../http/sender-id.js';
import { refuseMisuse } from '../queues/misuse.js';
import {
  chatMembersSchema,
  createBody,
  createdSchema,
  cursorBody,
  cursorSchema,
  joinBody,
  joinedSchema,
  membersQuery,
  roleBody,
  typingBody,
} from './chat-schemas.js';
import { LARGE_MESSAGE } from './message-limit.js';
import { requireSameRequest } from './same-request.js';
import { TenantChats } from './tenant-messaging.js';

@ApiTags('chats')
@Controller('v1/chats')
export class ChatsController {
  constructor(private readonly chats: TenantChats) {}

  @Post()
  @RouteConfig(LARGE_MESSAGE)
  @ApiOperation({
    summary: 'Create a chat',
    description:
      'Creates a chat with up to 1,000 members. A `body` is its first message. An existing chat is left ' +
      'unchanged.',
  })
  @TakesIdempotencyKey('Becomes the id of the chat: the same request again creates nothing.')
  @Creates(createdSchema, 'It is created.', 'The chat existed before.', 'Location')
  @Problems(
    'invalid-idempotency-key',
    ...BODY_PROBLEMS,
    'too-many-members',
    'too-many-chats',
    'request-reused',
  )
  async createChat(
    @Body({ schema: createBody }) { sender, members, body, chatId: wanted }: z.infer<typeof createBody>,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreateResult> {
    const { id: chatId } = senderIdOf(wanted, key, '/chatId');
    const created = await this.chats.current.create({
      sender,
      members,
      body,
      // The message also has an id, which no other message of the sender has, so that a repeated request gets the same answer.
      ...(chatId !== undefined && { chatId, id: firstMessageId(chatId) }),
    });
    if (!created.isNew && key !== undefined && body !== undefined) {
      const repeated = { key, chatId: created.chatId, id: created.id ?? 1, sender, body };
      await requireSameRequest(this.chats.current, { ...repeated, kind: 'message' });
    }
    reply.status(created.isNew ? HttpStatus.CREATED : HttpStatus.OK);
    reply.header('location', `/v1/chats/${encodeURIComponent(created.chatId)}/members`);
    return created;
  }

  @Get(':id/members')
  @ApiOperation({
    summary: 'List the members of a chat',
    description: 'Lists members with their cursors, which show what each has read.',
  })
  @Answers(chatMembersSchema, 'A page of members.')
  @Problems('invalid-id', 'invalid-query', 'invalid-cursor', 'unknown-chat')
  async chatMembers(
    @Name('id') id: string,
    @Query({ schema: membersQuery }) { cursor, limit }: z.infer<typeof membersQuery>,
  ): Promise<z.infer<typeof chatMembersSchema>> {
    const options = { limit, ...(cursor !== undefined && { cursor }) };
    const page = await this.chats.current.members(id, options).catch(refuseMisuse);
    return { items: page.members, nextCursor: page.cursor };
  }

  @Put(':id/members/:member')
  @ApiOperation({
    summary: 'Join a chat',
    description: 'The cursor starts at the newest message. An existing member keeps cursor and role.',
  })
  @Creates(
    joinedSchema,
    'The member is in the chat.',
    'The member was in the chat already; also for a repeated request.',
  )
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-chat', 'too-many-members', 'too-many-chats')
  async joinChat(
    @Name('id') id: string,
    @Name('member') member: string,
    @Body({ schema: joinBody }) body: z.infer<typeof joinBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JoinResult> {
    const joined = await this.chats.current.join(id, member, body);
    reply.status(joined.isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return joined;
  }

  @Delete(':id/members/:member')
  @ApiOperation({ summary: 'Leave a chat', description: 'A chat ends with its last member.' })
  @AnswersNothing('The member is not in the chat any more.')
  @Problems('invalid-id')
  async leaveChat(@Name('id') id: string, @Name('member') member: string): Promise<void> {
    await this.chats.current.leave(id, member);
  }

  @Put(':id/members/:member/role')
  @ApiOperation({ summary: 'Give a member another role' })
  @AnswersNothing('The member has the role.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-chat', 'not-a-member', 'not-allowed')
  async setRole(
    @Name('id') id: string,
    @Name('member') member: string,
    @Body({ schema: roleBody }) { role, by }: z.infer<typeof roleBody>,
  ): Promise<void> {
    await this.chats.current.setRole(id, member, role, by === undefined ? {} : { by });
  }

  @Put(':id/members/:member/cursor')
  @ApiOperation({
    summary: 'Ack messages of a chat',
    description:
      'Messages that all members have acked are freed. The cursor never moves back: a lower id does nothing.',
  })
  @Answers(cursorSchema, 'The cursor of the member.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-chat', 'not-a-member', 'unknown-message')
  async moveCursor(
    @Name('id') id: string,
    @Name('member') member: string,
    @Body({ schema: cursorBody }) { upToId, epoch }: z.infer<typeof cursorBody>,
  ): Promise<z.infer<typeof cursorSchema>> {
    const options = epoch === undefined ? {} : { epoch };
    return { ackedId: await this.chats.current.ack(id, member, upToId, options) };
  }

  @Post(':id/typing')
  @ApiOperation({
    summary: 'Tell that a member is typing',
    description: 'Notifies the current followers of the chat. Nothing is stored.',
  })
  @AnswersNothing('The followers are notified.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'unknown-chat', 'not-a-member')
  async tellTyping(
    @Name('id') id: string,
    @Body({ schema: typingBody }) { member }: z.infer<typeof typingBody>,
  ): Promise<void> {
    await this.chats.current.typing(id, member);
  }
}

/** A digest, since the name of a chat may be as long as an id. */
function firstMessageId(chatId: string): string {
  return `create ${createHash('sha256').update(chatId).digest('base64url')}`;
}
