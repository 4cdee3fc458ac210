import { Module } from '@nestjs/common';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { RemoteQueuesModule } from '../queues/remote-queues.module.js';
import { CONFIG, REDIS } from '../tokens.js';
import { Market } from './index.js';
import { ListingsController } from './listings.controller.js';
import { ListingTimers } from './listing-timers.js';
import { OutboxRelay } from './outbox-relay.js';
import { PasswordResetsController } from './password-resets.controller.js';
import { PasswordResets } from './password-resets.js';
import { PlayersController } from './players.controller.js';
import { SalesController } from './sales.controller.js';

@Module({
  imports: [RemoteQueuesModule],
  controllers: [PlayersController, ListingsController, SalesController, PasswordResetsController],
  exports: [Market],
  providers: [
    OutboxRelay,
    ListingTimers,
    PasswordResets,
    {
      provide: Market,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) => new Market(redis, { prefix }),
    },
  ],
})
export class MarketModule {}
