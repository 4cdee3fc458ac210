/** The messages of chats. */
import { Body, Controller, Delete, Get, HttpStatus, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ChatMessage, HistoryOptions, PostResult } from '@mortise/messaging';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, Creates } from '../http/answers.js';
import { Name } from '../http/id.decorator.js';
import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { senderIdOf } from '../http/sender-id.js';
import {
  chatMessagesSchema,
  deleteQuery,
  editBody,
  historyQuery,
  postBody,
  trimmedSchema,
  trimQuery,
} from './chat-schemas.js';
import { LARGE_MESSAGE } from './message-limit.js';
import { requireSameRequest } from './same-request.js';
import { messageIdSchema, sentSchema } from './schemas.js';
import { TenantChats } from './tenant-messaging.js';

const POST_PROBLEMS = [
  'invalid-id',
  'invalid-idempotency-key',
  ...BODY_PROBLEMS,
  'unknown-chat',
  'not-a-member',
  'read-only-member',
  'request-reused',
] as const;

@ApiTags('chats')
@Controller('v1/chats/:id/messages')
export class ChatMessagesController {
  constructor(private readonly chats: TenantChats) {}

  @Post()
  @RouteConfig(LARGE_MESSAGE)
  @ApiOperation({
    summary: 'Post a message to a chat',
    description: 'The message is pushed to followers, and kept until all members have acked it.',
  })
  @TakesIdempotencyKey(
    'Becomes the id of the message: repeating the request within 10 minutes posts nothing.',
  )
  @Creates(sentSchema, 'The message is in the chat.', 'The message was posted before.')
  @Problems(...POST_PROBLEMS)
  async postMessage(
    @Name('id') chatId: string,
    @Body({ schema: postBody }) { sender, body, id }: z.infer<typeof postBody>,
    @IdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PostResult> {
    const result = await this.chats.current.post(chatId, sender, body, senderIdOf(id, key));
    if (result.isDuplicate && key !== undefined) {
      await requireSameRequest(this.chats.current, {
        key,
        chatId,
        id: result.id,
        kind: 'message',
        sender,
        body,
      });
    }
    reply.status(result.isDuplicate ? HttpStatus.OK : HttpStatus.CREATED);
    return result;
  }

  @Get()
  @ApiOperation({
    summary: 'Read what is stored of a chat',
    description:
      'Returns the newest messages, those before an id, or those after it. Messages that all members have ' +
      'acked are gone.',
  })
  @Answers(chatMessagesSchema, 'The messages, by ascending ids.')
  @Problems('invalid-id', 'invalid-query', 'unknown-chat')
  async chatHistory(
    @Name('id') chatId: string,
    @Query({ schema: historyQuery }) query: z.infer<typeof historyQuery>,
  ): Promise<{ items: ChatMessage[] }> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    return { items: await this.chats.current.history(chatId, Object.fromEntries(given) as HistoryOptions) };
  }

  @Delete()
  @ApiOperation({
    summary: 'Drop the oldest messages of a chat',
    description:
      'Drops all messages up to an id, read or not. The cursors stay: members who had not acked these messages ' +
      'get a `gap`. A repeated request drops none.',
  })
  @Answers(trimmedSchema, 'The messages are dropped.')
  @Problems('invalid-id', 'invalid-query', 'unknown-chat', 'unknown-message')
  async trimChat(
    @Name('id') chatId: string,
    @Query({ schema: trimQuery }) { upToId }: z.infer<typeof trimQuery>,
  ): Promise<z.infer<typeof trimmedSchema>> {
    return { dropped: await this.chats.current.trim(chatId, upToId) };
  }

  @Patch(':messageId')
  @RouteConfig(LARGE_MESSAGE)
  @ApiOperation({
    summary: 'Edit a message',
    description:
      'Changes the stored message, and notifies its readers by an event. The answer has the id of the event.',
  })
  @TakesIdempotencyKey(
    'Becomes the id of the edit among those of the message: repeating the request within 10 minutes does nothing.',
  )
  @Answers(sentSchema, 'The message is edited.')
  @Problems(...POST_PROBLEMS, 'unknown-message', 'not-allowed')
  async editMessage(
    @Name('id') chatId: string,
    @Param('messageId', { schema: messageIdSchema }) messageId: number,
    @Body({ schema: editBody }) { sender, body, id }: z.infer<typeof editBody>,
    @IdempotencyKey() key: string | undefined,
  ): Promise<PostResult> {
    const result = await this.chats.current.edit(chatId, sender, messageId, body, senderIdOf(id, key));
    if (result.isDuplicate && key !== undefined) {
      await requireSameRequest(this.chats.current, {
        key,
        chatId,
        id: result.id,
        kind: 'edit',
        sender,
        body,
      });
    }
    return result;
  }

  @Delete(':messageId')
  @ApiOperation({
    summary: 'Delete a message',
    description:
      'Deletes the body at once, and notifies the readers by an event. The answer has the id of the event. A ' +
      'repeated request returns the same event, as a duplicate.',
  })
  @Answers(sentSchema, 'The message is deleted.')
  @Problems(
    'invalid-id',
    'invalid-query',
    'unknown-chat',
    'unknown-message',
    'not-a-member',
    'read-only-member',
    'not-allowed',
  )
  async deleteMessage(
    @Name('id') chatId: string,
    @Param('messageId', { schema: messageIdSchema }) messageId: number,
    @Query({ schema: deleteQuery }) { sender }: z.infer<typeof deleteQuery>,
  ): Promise<PostResult> {
    return this.chats.current.delete(chatId, sender, messageId);
  }
}
