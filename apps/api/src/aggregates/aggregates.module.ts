import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { AggregatesController } from './aggregates.controller.js';

/** The worker's counts of access logs. */
@Module({
  controllers: [AggregatesController],
  providers: [
    {
      provide: DailyAggregates,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) =>
        new DailyAggregates(redis, { prefix }),
    },
  ],
})
export class AggregatesModule {}
