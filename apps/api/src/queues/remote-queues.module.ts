import { QueuesModule } from '@mortise/queues/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { MAIL_PRIORITIES, MAIL_QUEUE, MARKET_QUEUE } from '../market/index.js';
import { CONFIG, REDIS } from '../tokens.js';
import { ClaimsController } from './claims.controller.js';
import { MailTasksController } from './mail-tasks.controller.js';
import { OpenQueues } from './open-queues.js';
import { QueuesController } from './queues.controller.js';
import { ResultsController } from './results.controller.js';
import { SchedulesController } from './schedules.controller.js';
import { TasksController } from './tasks.controller.js';

const queues = QueuesModule.forFeature({
  queues: { [MAIL_QUEUE]: { priorities: MAIL_PRIORITIES }, [MARKET_QUEUE]: {} },
});

/** Queues for HTTP clients, and those of the application itself. The API only enqueues: it has no workers. */
@Module({
  imports: [
    QueuesModule.forRootAsync({
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config) => ({ redis, prefix }),
    }),
    queues,
  ],
  controllers: [
    QueuesController,
    TasksController,
    ResultsController,
    SchedulesController,
    ClaimsController,
    MailTasksController,
  ],
  providers: [OpenQueues],
  exports: [queues],
})
export class RemoteQueuesModule {}
