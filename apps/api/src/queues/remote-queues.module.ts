import { Metrics } from '@mortise/app-common/operations';
import { QueuesModule } from '@mortise/queues/nestjs';
import type { RedisClient } from '@mortise/redis';
import { Module } from '@nestjs/common';

import type { Config } from '../config.js';
import { MarketModule } from '../market/market.module.js';
import { CONFIG, REDIS } from '../tokens.js';
import { ClaimStepsController } from './claim-steps.controller.js';
import { ClaimsController } from './claims.controller.js';
import { FlowsController } from './flows.controller.js';
import { MailTasksController } from './mail-tasks.controller.js';
import { OpenQueues } from './open-queues.js';
import { OperationsController } from './operations.controller.js';
import { Operations } from './operations.js';
import { QueuesController } from './queues.controller.js';
import { ResultsController } from './results.controller.js';
import { SchedulesController } from './schedules.controller.js';
import { TaskEventsController } from './task-events.controller.js';
import { TasksController } from './tasks.controller.js';

/** Queues for HTTP clients, besides those of the market. */
@Module({
  imports: [
    QueuesModule.forRootAsync({
      inject: [REDIS, CONFIG, Metrics],
      useFactory: (redis: RedisClient, { MORTISE_PREFIX: prefix }: Config, { telemetry }: Metrics) => ({
        redis,
        prefix,
        telemetry,
      }),
    }),
    MarketModule,
  ],
  controllers: [
    QueuesController,
    TasksController,
    TaskEventsController,
    ResultsController,
    SchedulesController,
    ClaimsController,
    ClaimStepsController,
    FlowsController,
    OperationsController,
    MailTasksController,
  ],
  providers: [OpenQueues, Operations],
  exports: [OpenQueues, Operations],
})
export class RemoteQueuesModule {}
