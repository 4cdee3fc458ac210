import { Module } from '@nestjs/common';

import { RemoteMessagingModule } from '../messaging/remote-messaging.module.js';
import { RemoteQueuesModule } from '../queues/remote-queues.module.js';
import { TopicEventsController } from './topic-events.controller.js';
import { TopicEvents } from './topic-events.js';

/** Events of several kinds in one stream. */
@Module({
  imports: [RemoteMessagingModule, RemoteQueuesModule],
  controllers: [TopicEventsController],
  providers: [TopicEvents],
})
export class EventsModule {}
