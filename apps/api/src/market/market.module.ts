import { QueuesModule } from '@mortise/queues/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { MAIL_PRIORITIES, MAIL_QUEUE, MARKET_QUEUE, Market } from './index.js';
import { ListingsController } from './listings.controller.js';
import { ListingTimers } from './listing-timers.js';
import { OutboxRelay } from './outbox-relay.js';
import { PasswordResetsController } from './password-resets.controller.js';
import { PasswordResets } from './password-resets.js';
import { PlayersController } from './players.controller.js';
import { PurchaseOutcomes } from './purchase-outcomes.js';
import { SalesController } from './sales.controller.js';

const queues = QueuesModule.forFeature({
  queues: { [MAIL_QUEUE]: { priorities: MAIL_PRIORITIES }, [MARKET_QUEUE]: {} },
});

/** The API only enqueues tasks of the market: it has no workers. */
@Module({
  imports: [queues],
  controllers: [PlayersController, ListingsController, SalesController, PasswordResetsController],
  exports: [Market, queues],
  providers: [
    OutboxRelay,
    ListingTimers,
    PasswordResets,
    PurchaseOutcomes,
    {
      provide: Market,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) => new Market(redis, { prefix }),
    },
  ],
})
export class MarketModule {}
