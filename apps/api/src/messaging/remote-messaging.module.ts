import { MessagingModule } from '@mortise/messaging/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { ChatMessagesController } from './chat-messages.controller.js';
import { ChatsController } from './chats.controller.js';
import { EventsController } from './live/events.controller.js';
import { Follows } from './live/follows.js';
import { LiveStreams } from './live/live-streams.js';
import { SocketServer } from './live/socket-server.js';
import { SocketController } from './live/socket.controller.js';
import { MailboxesController } from './mailboxes.controller.js';
import { MembersController } from './members.controller.js';

/** Mailboxes and chats for HTTP clients. */
@Module({
  imports: [
    MessagingModule.forRootAsync({
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, config: Config) => ({
        redis,
        prefix: config.MORTISE_PREFIX,
        files: {
          windowBytes: config.FILE_WINDOW_BYTES,
          budgetBytes: config.FILE_BUDGET_BYTES,
          keepMs: config.FILE_TTL_MS,
        },
      }),
    }),
  ],
  controllers: [
    MailboxesController,
    ChatsController,
    ChatMessagesController,
    MembersController,
    EventsController,
    SocketController,
  ],
  providers: [LiveStreams, Follows, SocketServer],
})
export class RemoteMessagingModule {}
