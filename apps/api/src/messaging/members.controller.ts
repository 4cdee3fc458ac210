/** The state of a member across all chats. */
import { Body, Controller, Delete, Get, Put, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { ChatOverview, Pulled } from '@mortise/messaging';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';

import { Answers, AnswersNothing } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { Name } from '../http/id.decorator.js';
import { OpenWaits } from '../limits/open-waits.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { waitOfQuery } from '../http/wait-of.js';
import {
  chatsQuery,
  chatsSchema,
  muteBody,
  pendingQuery,
  pendingSchema,
  presenceBody,
} from './chat-schemas.js';
import { TenantChats } from './tenant-messaging.js';

/** Of messages in one answer. */
const MAX_PENDING_BYTES = 16 * 1_048_576;

@ApiTags('members')
@Controller('v1/members/:member')
export class MembersController {
  constructor(
    private readonly chats: TenantChats,
    private readonly waits: OpenWaits,
  ) {}

  @Get('pending')
  @Waits(waitOfQuery)
  @ApiOperation({
    summary: 'Read the unread messages of all chats of a member, or wait for one',
    description:
      'The request moves no cursor: messages come again until they are acked. Beyond 16 MiB the remainder ' +
      'comes with the next request.',
  })
  @Answers(pendingSchema, 'The chats with unread messages, or none if none came in time.')
  @Problems('invalid-id', 'invalid-query', 'too-many-waits', 'quota-exceeded', 'shutting-down')
  async pending(
    @Name('member') member: string,
    @Query({ schema: pendingQuery }) query: z.infer<typeof pendingQuery>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ items: Pulled[] }> {
    const items = await this.waits.run(reply, query.waitMs, async (signal) =>
      this.chats.current.pull(member, { ...query, maxReplyBytes: MAX_PENDING_BYTES, signal }),
    );
    return { items };
  }

  @Get('chats')
  @ApiOperation({
    summary: 'List the chats of a member',
    description: 'Lists the chats with the number of unread messages in each.',
  })
  @Answers(chatsSchema, 'The chats.')
  @Problems('invalid-id', 'invalid-query')
  async chatsOf(
    @Name('member') member: string,
    @Query({ schema: chatsQuery }) query: z.infer<typeof chatsQuery>,
  ): Promise<{ items: ChatOverview[] }> {
    return { items: await this.chats.current.chatsOf(member, query) };
  }

  @Put('mutes/:chatId')
  @ApiOperation({
    summary: 'Mute a chat',
    description: '`pending` and events leave the chat out, unless the request includes muted chats.',
  })
  @AnswersNothing('The chat is muted.')
  @Problems('invalid-id', ...BODY_PROBLEMS, 'not-a-member')
  async muteChat(
    @Name('member') member: string,
    @Name('chatId') chatId: string,
    @Body({ schema: muteBody }) { untilMs }: z.infer<typeof muteBody>,
  ): Promise<void> {
    await this.chats.current.mute(chatId, member, untilMs === undefined ? {} : { untilMs });
  }

  @Delete('mutes/:chatId')
  @ApiOperation({ summary: 'End the muting of a chat' })
  @AnswersNothing('The chat is not muted any more.')
  @Problems('invalid-id')
  async unmuteChat(@Name('member') member: string, @Name('chatId') chatId: string): Promise<void> {
    await this.chats.current.unmute(chatId, member);
  }

  @Put('presence')
  @ApiOperation({
    summary: 'Tell of the presence of a member',
    description: "Notifies present followers of the member's chats. Nothing is stored.",
  })
  @AnswersNothing('The followers are notified.')
  @Problems('invalid-id', ...BODY_PROBLEMS)
  async tellPresence(
    @Name('member') member: string,
    @Body({ schema: presenceBody }) { status }: z.infer<typeof presenceBody>,
  ): Promise<void> {
    await this.chats.current.presence(member, status);
  }
}
