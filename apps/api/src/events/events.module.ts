import { Module } from '@nestjs/common';

import { CachesModule } from '../caches/caches.module.js';
import { ConsoleModule } from '../console/console.module.js';
import { RemoteFilesModule } from '../files/remote-files.module.js';
import { RemoteLocksModule } from '../locks/remote-locks.module.js';
import { MarketModule } from '../market/market.module.js';
import { RemoteMessagingModule } from '../messaging/remote-messaging.module.js';
import { RemoteQueuesModule } from '../queues/remote-queues.module.js';
import { SocketServer } from './socket-server.js';
import { RowCacheModule } from '../row-cache/row-cache.module.js';
import { SocketController } from './socket.controller.js';
import { TopicEventsController } from './topic-events.controller.js';
import { TopicEvents } from './topic-events.js';

/** Events of several kinds in one stream, and over a WebSocket. */
@Module({
  imports: [
    CachesModule,
    ConsoleModule,
    MarketModule,
    RemoteFilesModule,
    RemoteLocksModule,
    RemoteMessagingModule,
    RemoteQueuesModule,
    RowCacheModule,
  ],
  controllers: [TopicEventsController, SocketController],
  providers: [TopicEvents, SocketServer],
})
export class EventsModule {}
