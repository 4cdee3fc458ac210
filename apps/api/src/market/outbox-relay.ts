/**
 * Brings the mail of every sale into the queue. The sale enters the outbox in the step that makes it; whoever made it
 * enqueues the mail at once and takes it out again; the relay does the same for what stayed: the process had died, or
 * the queue had refused. A mail's task has the id of its sale, so to enqueue it again stores nothing.
 */
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from '@mortise/queues';
import { InjectQueue } from '@mortise/queues/nestjs';
import { Loop } from '@mortise/redis';
import type { Logger } from 'pino';

import { LOG } from '../tokens.js';
import type { MailTasks, Receipt } from './index.js';
import { MAIL_ATTEMPTS, MAIL_QUEUE, Market } from './index.js';

const BATCH = 100;
const PAUSE_MS = 5_000;

@Injectable()
export class OutboxRelay implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #loop: Loop;

  constructor(
    private readonly market: Market,
    @InjectQueue(MAIL_QUEUE) private readonly mails: Queue<MailTasks>,
    @Inject(LOG) private readonly log: Logger,
  ) {
    const onError = (err: unknown): void => log.warn({ err }, 'the outbox waits');
    this.#loop = new Loop('outbox relay', () => this.#step(), { onError });
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#loop.stop();
  }

  /** Enqueues the mail of a sale just made. Never rejects: what fails here stays in the outbox, and the relay wakes. */
  async handOver(receipt: Receipt): Promise<void> {
    try {
      await this.#enqueue([receipt]);
    } catch (err) {
      this.log.warn({ err, saleId: receipt.id }, 'the mail of a sale is left to the outbox');
      this.#loop.wake();
    }
  }

  async #step(): Promise<number> {
    const receipts = await this.market.outbox(BATCH);
    if (receipts.length > 0) {
      await this.#enqueue(receipts);
      this.log.info({ sales: receipts.length }, 'mails enqueued from the outbox');
    }
    return receipts.length === BATCH ? 0 : PAUSE_MS;
  }

  async #enqueue(receipts: readonly Receipt[]): Promise<void> {
    await this.mails.enqueueMany(
      receipts.map(({ id, sellerId, itemId, price, buyerId }) => ({
        name: 'mail.sold',
        payload: { sellerId, itemId, price, buyerId },
        options: { id, priority: 'medium', attempts: MAIL_ATTEMPTS },
      })),
    );
    await this.market.markMailed(receipts.map(({ id }) => id));
  }
}
