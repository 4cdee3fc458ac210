import { Module } from '@nestjs/common';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { CONFIG, REDIS } from '../tokens.js';
import { Market } from './index.js';
import { ListingsController } from './listings.controller.js';
import { OutboxRelay } from './outbox-relay.js';
import { PlayersController } from './players.controller.js';
import { SalesController } from './sales.controller.js';

@Module({
  imports: [TasksModule],
  controllers: [PlayersController, ListingsController, SalesController],
  exports: [Market],
  providers: [
    OutboxRelay,
    {
      provide: Market,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) => new Market(redis, { prefix }),
    },
  ],
})
export class MarketModule {}
