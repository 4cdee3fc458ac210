import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';

import { MAIL_PRIORITIES, MAIL_QUEUE, type MailTasks, Market } from '@mortise/api/market';
import { type EnqueueOptions, Queue, type Task, type TaskState } from '@mortise/queues';
import { NestFactory } from '@nestjs/core';
import type { Cluster, Redis } from 'ioredis';
import { pino } from 'pino';

import { readConfig } from '../src/config.js';
import { openRedis } from '../src/open-redis.js';
import { WorkerModule } from '../src/worker.module.js';
import { until } from './until.js';

type LogEntry = Record<string, unknown>;

/** The writes of an API: two players, and sales whose mails are due. Its keys have a prefix of their own. */
export class Game implements AsyncDisposable {
  readonly prefix = `test:${randomUUID()}`;
  readonly redis: Redis | Cluster;
  readonly market: Market;
  readonly queue: Queue<MailTasks>;
  readonly #workers: RunningWorker[] = [];

  /** @param place The variables of the worker that say where Redis is. */
  constructor(readonly place: Record<string, string> = { REDIS_URL: process.env['MORTISE_TEST_REDIS']! }) {
    this.redis = openRedis(readConfig(place).redis, pino({ level: 'silent' }));
    this.market = new Market(this.redis, { prefix: this.prefix });
    this.queue = new Queue<MailTasks>(this.redis, MAIL_QUEUE, {
      priorities: MAIL_PRIORITIES,
      prefix: this.prefix,
    });
  }

  /** The settings of a worker of this game. */
  get variables(): Record<string, string> {
    return { ...this.place, MORTISE_PREFIX: this.prefix };
  }

  async putPlayers(email = 'frank@example.com'): Promise<void> {
    await this.market.putPlayer('frank', { name: 'Frank', email });
    await this.market.putPlayer('bill', { name: 'Bill', email: 'bill@example.com' });
  }

  /** Enqueues the mail of a sale and gives its id. */
  async sell(sale: Partial<MailTasks['mail.sold']> = {}, options: EnqueueOptions = {}): Promise<string> {
    const payload = { sellerId: 'frank', itemId: 'ItemM', price: 97, buyerId: 'bill', ...sale };
    const { id } = await this.queue.enqueue('mail.sold', payload, {
      priority: 'medium',
      backoff: { type: 'fixed', delayMs: 20 },
      ...options,
    });
    return id;
  }

  /** The task, once it is in that state. */
  taskIn(state: TaskState, id: string): Promise<Task<MailTasks>> {
    return until(`task ${id} to be ${state}`, async () => {
      const task = await this.queue.get(id);
      return task?.state === state && task;
    });
  }

  /** The worker app in this process, with its log. It is closed with the game. */
  async startWorker(variables: Record<string, string> = {}): Promise<RunningWorker> {
    const config = readConfig({ ...this.variables, ...variables });
    const lines: LogEntry[] = [];
    const log = pino(
      { level: 'debug' },
      new Writable({
        write(chunk, _encoding, callback) {
          lines.push(JSON.parse(String(chunk)) as LogEntry);
          callback();
        },
      }),
    );
    const app = await NestFactory.createApplicationContext(WorkerModule.with(config, log), {
      logger: false,
      abortOnError: false,
    });
    let closed: Promise<void> | undefined;
    const worker = { lines, close: () => (closed ??= app.close()) };
    this.#workers.push(worker);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
    this.redis.disconnect();
  }
}

export interface RunningWorker {
  readonly lines: readonly LogEntry[];
  /** Idempotent. */
  close(): Promise<void>;
}
