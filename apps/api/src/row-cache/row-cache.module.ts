import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { RowCaches } from './row-caches.js';
import { RowsController } from './rows.controller.js';
import { TablesController } from './tables.controller.js';

/** Rows of a database for HTTP clients; the worker keeps them fresh. */
@Module({
  controllers: [TablesController, RowsController],
  providers: [
    {
      provide: RowCaches,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { CACHE_TABLES, MORTISE_PREFIX }: Config) =>
        new RowCaches(
          redis,
          CACHE_TABLES.map(({ name }) => name),
          MORTISE_PREFIX,
        ),
    },
  ],
  exports: [RowCaches],
})
export class RowCacheModule {}
