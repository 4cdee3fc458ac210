/**
 * Enqueues the mail of every sale. The script that makes a sale also puts it into the outbox. The process that called it
 * enqueues the mail and removes the sale from the outbox. The relay does the same for the sales that stayed there, because
 * that process died or the queue refused the mail. The task of a mail has the id of its sale, so a repetition stores nothing.
 */
import { taskHeaders } from '@mortise/app-common/log';
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
    const onError = (err: unknown): void => log.warn({ err }, 'the outbox could not be emptied');
    this.#loop = new Loop('outbox relay', () => this.#step(), { onError });
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#loop.stop();
  }

  /** Enqueues the mail of a new sale. Never rejects: after a failure the sale stays in the outbox, and the relay runs. */
  async enqueueMail(receipt: Receipt): Promise<void> {
    try {
      await this.#enqueue([receipt]);
    } catch (err) {
      this.log.warn(
        { err, saleId: receipt.id },
        'the mail of a sale could not be enqueued; it stays in the outbox',
      );
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
        options: { id, priority: 'medium', attempts: MAIL_ATTEMPTS, ...taskHeaders() },
      })),
    );
    await this.market.markMailed(receipts.map(({ id }) => id));
  }
}
