/** The parts of the worker, and the order in which they start and stop. */
import {
  MAIL_PRIORITIES,
  MAIL_QUEUE,
  MAIL_TASKS,
  type MailTasks,
  Market,
  MARKET_QUEUE,
  MARKET_TASKS,
} from '@mortise/api/market';
import { WEBHOOK_QUEUE, WEBHOOK_TASKS } from '@mortise/api/webhooks';
import type { Queue } from '@mortise/queues';
import { getQueueToken, Queues, QueuesModule } from '@mortise/queues/nestjs';
import type { RedisClient } from '@mortise/redis';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

import { Metrics, OperationsServer } from '@mortise/app-common/operations';
import type { Tracing } from '@mortise/app-common/tracing';

import type { Config } from './config.js';
import { ErrorLog } from './error-log.js';
import { logCollectorOf } from './log-aggregation/collector-of.js';
import type { LogCollector } from '@mortise/messaging/log-aggregation';
import { EmlMailer } from './mail/eml-mailer.js';
import { MailDelivery } from './mail/mail-delivery.js';
import { MailHandlers } from './mail/mail-handlers.js';
import type { Mailer } from './mail/mailer.js';
import { SmtpMailer } from './mail/smtp-mailer.js';
import { MarketHandlers } from './market/market-handlers.js';
import { type RowRefresher, rowRefresherOf } from './row-cache/row-refresher.js';
import { openRedis } from './open-redis.js';
import { WorkerState } from './worker-state.js';
import { WebhookHandlers } from './webhook/webhook-handlers.js';
import { WebhookSender } from './webhook/webhook-sender.js';

const REDIS = Symbol('redis');
const MAILER = Symbol('mailer');
const LOGS = Symbol('logs');
const ROWS = Symbol('rows');

/** Of health checks and metrics. Further workers on a machine get other ports. */
const DEFAULT_PORT = 3_001;

@Module({})
export class WorkerModule implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  #stopped: Promise<unknown> | undefined;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(MAILER) private readonly mailer: Mailer,
    @Inject(LOGS) private readonly logs: LogCollector | undefined,
    @Inject(ROWS) private readonly rows: RowRefresher | undefined,
    private readonly operations: OperationsServer,
    private readonly state: WorkerState,
  ) {}

  static with(config: Config, log: Logger, tracing?: Tracing): DynamicModule {
    const { prefix, sender, smtpUrl, webhooks, shutdownTimeoutMs: graceMs } = config;
    const metrics = new Metrics('worker', tracing);
    const { telemetry } = metrics;
    return {
      module: WorkerModule,
      // The client of the queues.
      global: true,
      imports: [
        QueuesModule.forRootAsync({
          inject: [REDIS],
          useFactory: (redis: RedisClient) => ({
            redis,
            prefix,
            graceMs,
            telemetry,
            workers: workersOf(config, log),
          }),
        }),
        QueuesModule.forFeature({
          queues: {
            [MAIL_QUEUE]: { priorities: MAIL_PRIORITIES, tasks: MAIL_TASKS },
            [MARKET_QUEUE]: { tasks: MARKET_TASKS },
            [WEBHOOK_QUEUE]: { tasks: WEBHOOK_TASKS },
          },
        }),
      ],
      providers: [
        { provide: REDIS, useFactory: () => openRedis(config.redis, log) },
        {
          provide: Market,
          inject: [REDIS],
          useFactory: (redis: RedisClient) => new Market(redis, { prefix }),
        },
        {
          provide: MAILER,
          useFactory: () =>
            smtpUrl === undefined
              ? new EmlMailer(config.mailDirectory, sender)
              : new SmtpMailer(smtpUrl, sender),
        },
        {
          provide: MailHandlers,
          inject: [Market, MAILER],
          useFactory: (market: Market, mailer: Mailer) =>
            new MailHandlers(market, new MailDelivery(market, mailer, log)),
        },
        {
          provide: MarketHandlers,
          inject: [Market, getQueueToken(MAIL_QUEUE)],
          useFactory: (market: Market, mails: Queue<MailTasks>) => new MarketHandlers(market, mails, log),
        },
        ...(webhooks
          ? [
              {
                provide: WebhookHandlers,
                useFactory: () => new WebhookHandlers(new WebhookSender(webhooks), log),
              },
            ]
          : []),
        {
          provide: LOGS,
          inject: [REDIS],
          useFactory: (redis: RedisClient) => logCollectorOf(redis, config, log),
        },
        {
          provide: ROWS,
          inject: [REDIS],
          useFactory: (redis: RedisClient) => rowRefresherOf(redis, config, log, telemetry),
        },
        {
          provide: WorkerState,
          inject: [REDIS, Queues],
          useFactory: (redis: Redis | Cluster, queues: Queues) => new WorkerState(redis, queues),
        },
        {
          provide: OperationsServer,
          inject: [REDIS, WorkerState],
          useFactory: (redis: RedisClient, state: WorkerState) => {
            metrics.watch(redis, prefix);
            return new OperationsServer({
              port: config.healthPort ?? DEFAULT_PORT,
              orAnyPort: config.healthPort === undefined,
              host: config.healthHost,
              log,
              metrics,
              dead: () => state.dead(),
              unready: () => state.unready(),
            });
          },
        },
      ],
      exports: [REDIS],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.operations.start();
    this.logs?.start();
    await this.rows?.start();
  }

  /** Runs before the module of the queues stops the workers. */
  onModuleDestroy(): void {
    this.state.isDraining = true;
    this.#stopped = Promise.all([this.logs?.stop(), this.rows?.stop()]);
  }

  /** Runs after the workers have stopped. */
  async onApplicationShutdown(): Promise<void> {
    await this.#stopped;
    this.mailer.close();
    this.redis.disconnect();
    this.operations.stop();
  }
}

/** One worker per queue, so that listings don't wait for a slow mail server. */
function workersOf({ queues, leaseMs, unknownAfterMs }: Config, log: Logger) {
  const errors = new ErrorLog(log);
  const options = {
    leaseMs,
    unknownAfterMs,
    onError: (error: unknown) => errors.add(error),
    // The handlers log each failure, with what they know of it.
    onFailed: () => undefined,
  };
  return [...queues].map(([queue, concurrency]) => ({ ...options, queues: [queue], concurrency }));
}
