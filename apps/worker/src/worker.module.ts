/** What the worker consists of, in which order it starts, and in which order it ends. */
import { MAIL_QUEUE, type MailTasks, Market } from '@mortise/api/market';
import { Worker } from '@mortise/queues';
import type { RedisClient } from '@mortise/redis';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from './config.js';
import { ErrorLog } from './error-log.js';
import { HealthServer } from './health-server.js';
import { EmlMailer } from './mail/eml-mailer.js';
import { MailSoldHandler } from './mail/mail-sold.handler.js';
import type { Mailer } from './mail/mailer.js';
import { SmtpMailer } from './mail/smtp-mailer.js';
import { openRedis } from './open-redis.js';

const CONFIG = Symbol('config');
const REDIS = Symbol('redis');
const MAILER = Symbol('mailer');

@Module({})
export class WorkerModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(MAILER) private readonly mailer: Mailer,
    private readonly worker: Worker<MailTasks>,
    private readonly health: HealthServer,
  ) {}

  static with(config: Config, log: Logger): DynamicModule {
    const { prefix, sender, smtpUrl, concurrency, leaseMs } = config;
    const errors = new ErrorLog(log);
    return {
      module: WorkerModule,
      providers: [
        { provide: CONFIG, useValue: config },
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
          provide: MailSoldHandler,
          inject: [Market, MAILER],
          useFactory: (market: Market, mailer: Mailer) => new MailSoldHandler(market, mailer, log),
        },
        {
          provide: Worker,
          inject: [REDIS, MailSoldHandler],
          useFactory: (redis: RedisClient, mailSold: MailSoldHandler) =>
            new Worker<MailTasks>(
              redis,
              [MAIL_QUEUE],
              { 'mail.sold': (payload, task) => mailSold.handle(payload, task) },
              { prefix, concurrency, leaseMs, onError: (error) => errors.add(error) },
            ),
        },
        {
          provide: HealthServer,
          inject: [REDIS],
          useFactory: (redis: RedisClient) =>
            new HealthServer(redis, config.healthPort, config.healthHost, log),
        },
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.health.start();
    await this.worker.start();
  }

  /** Takes no more tasks, gives the running ones their time, and puts back those that are not done by then. */
  async beforeApplicationShutdown(): Promise<void> {
    this.health.drain();
    await this.worker.stop({ graceMs: this.config.shutdownTimeoutMs });
  }

  onApplicationShutdown(): void {
    this.mailer.close();
    this.redis.disconnect();
    this.health.stop();
  }
}
