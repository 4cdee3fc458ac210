import { Module } from '@nestjs/common';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { MAIL_PRIORITIES, MAIL_QUEUE } from '../market/index.js';
import { CONFIG, REDIS } from '../tokens.js';
import { MailQueue } from './mail-queue.js';
import { TasksController } from './tasks.controller.js';

@Module({
  controllers: [TasksController],
  providers: [
    {
      provide: MailQueue,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) =>
        new MailQueue(redis, MAIL_QUEUE, { prefix, priorities: MAIL_PRIORITIES }),
    },
  ],
  exports: [MailQueue],
})
export class TasksModule {}
