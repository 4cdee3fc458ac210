import { Module } from '@nestjs/common';

import { ChatMessagesController } from './chat-messages.controller.js';
import { ChatsController } from './chats.controller.js';
import { EventServer } from './live/event-server.js';
import { EventsController } from './live/events.controller.js';
import { LiveStreams } from './live/live-streams.js';
import { MailboxesController } from './mailboxes.controller.js';
import { MembersController } from './members.controller.js';
import { TenantChats, TenantMailboxes } from './tenant-messaging.js';

/** Mailboxes and chats for HTTP clients. */
@Module({
  controllers: [
    MailboxesController,
    ChatsController,
    ChatMessagesController,
    MembersController,
    EventsController,
  ],
  providers: [TenantMailboxes, TenantChats, LiveStreams, EventServer],
  exports: [TenantMailboxes, TenantChats, LiveStreams, EventServer],
})
export class RemoteMessagingModule {}
