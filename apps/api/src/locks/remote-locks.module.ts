import { LocksModule } from '@mortise/locks/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import { LocksController } from './locks.controller.js';
import { OperatorLists } from './operator-lists.js';
import { RemoteLeases } from './remote-leases.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import { SemaphoresController } from './semaphores.controller.js';

/** Locks and semaphores for HTTP clients. The holder renews its lease; the API doesn't. */
@Module({
  imports: [
    LocksModule.forRootAsync({
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) => ({
        redis,
        prefix,
        renew: false,
      }),
    }),
  ],
  controllers: [LocksController, SemaphoresController],
  providers: [RemoteLeases, RemoteLocks, RemoteSemaphores, OperatorLists],
})
export class RemoteLocksModule {}
