/**
 * Opens and expires listings. The market decides by the listing in Redis and the server's clock; a task only triggers the
 * decision. So a task may run twice, late, or for a sold listing, and the next attempt completes an interrupted one.
 */
import { REQUEST_HEADER } from '@mortise/app-common/log';
import {
  expiredMailId,
  type ListingRef,
  MAIL_ATTEMPTS,
  type MailTasks,
  type Market,
  MARKET_QUEUE,
} from '@mortise/api/market';
import { Discard, type Queue, RetryLater, type TaskContext } from '@mortise/queues';
import { TaskHandler } from '@mortise/queues/nestjs';
import type { Logger } from 'pino';
import { z } from 'zod';

import { taskLog } from '../log-attempt.js';

const Ref = z.object({ listingId: z.string(), listedAt: z.int().min(0) });

const FOR_LISTINGS = { queue: MARKET_QUEUE } as const;

export class MarketHandlers {
  readonly #market: Market;
  readonly #mails: Queue<MailTasks>;
  readonly #log: Logger;

  constructor(market: Market, mails: Queue<MailTasks>, log: Logger) {
    this.#market = market;
    this.#mails = mails;
    this.#log = log;
  }

  /** Opens a listing that is due. */
  @TaskHandler('market.open', FOR_LISTINGS)
  async open(payload: unknown, task: TaskContext): Promise<void> {
    const ref = refOf(payload);
    const timed = await this.#market.timed.open(ref);
    if (timed.status === 'early') throw new RetryLater({ delayMs: timed.inMs });
    this.#tell(task, ref, timed.status === 'done' ? 'listing opened' : 'listing was gone');
  }

  /**
   * Removes an expired listing, and enqueues the mail to its seller. The market keeps the listing among the expired ones
   * until the mail is enqueued. The task of the mail has the id of the listing, so it exists once.
   */
  @TaskHandler('market.expire', FOR_LISTINGS)
  async expire(payload: unknown, task: TaskContext): Promise<void> {
    const ref = refOf(payload);
    const timed = await this.#market.timed.expire(ref);
    if (timed.status === 'early') throw new RetryLater({ delayMs: timed.inMs });
    if (timed.status === 'done' && timed.listing) {
      const { sellerId, itemId, price } = timed.listing;
      await this.#mails.enqueue(
        'mail.expired',
        { sellerId, itemId, price },
        {
          id: expiredMailId(ref),
          priority: 'low',
          attempts: MAIL_ATTEMPTS,
          headers: requestOf(task),
        },
      );
      await this.#market.timed.markExpiryMailed(ref);
    }
    this.#tell(task, ref, timed.status === 'done' ? 'listing expired' : 'listing was gone');
  }

  #tell(task: TaskContext, { listingId }: ListingRef, what: string): void {
    taskLog(this.#log, task).info({ listing: listingId }, what);
  }
}

/** The headers of a task that this one enqueues: it belongs to the same request. */
function requestOf({ headers }: TaskContext): Record<string, string> {
  const reqId = headers[REQUEST_HEADER];
  return reqId === undefined ? {} : { [REQUEST_HEADER]: reqId };
}

function refOf(payload: unknown): ListingRef {
  const { data } = Ref.safeParse(payload);
  if (!data) throw new Discard('the payload is not that of a listing');
  return data;
}
