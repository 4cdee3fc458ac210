/**
 * Enqueues the tasks that open and expire listings. The script that makes such a listing also puts it among the timers, and it
 * stays there until its tasks are enqueued, as a sale stays in the outbox; see outbox-relay.ts.
 */
import { taskHeaders } from '@mortise/app-common/log';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { Queue } from '@mortise/queues';
import { InjectQueue } from '@mortise/queues/nestjs';
import { Loop } from '@mortise/redis';
import type { Logger } from 'pino';

import { LOG } from '../tokens.js';
import type { Listing, MarketTasks } from './index.js';
import { Market, MARKET_QUEUE, tasksOf } from './index.js';
import { placeOf } from './timed-listings.js';

/** About nine hours, as for mails. */
const ATTEMPTS = 20;
const BATCH = 100;
const PAUSE_MS = 5_000;

@Injectable()
export class ListingTimers implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #loop: Loop;

  constructor(
    private readonly market: Market,
    @InjectQueue(MARKET_QUEUE) private readonly queue: Queue<MarketTasks>,
    @Inject(LOG) private readonly log: Logger,
  ) {
    const onError = (err: unknown): void => log.warn({ err }, 'the timers of listings could not be enqueued');
    this.#loop = new Loop('listing timers', () => this.#step(), { onError });
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#loop.stop();
  }

  /** Enqueues the tasks of a new listing. Never rejects: after a failure the loop enqueues them. */
  async enqueueTasks(listing: Listing): Promise<void> {
    if (listing.opensAt === undefined && listing.expiresAt === undefined) return;
    try {
      await this.#enqueue([listing]);
      await this.market.timed.markTimed([placeOf({ listingId: listing.id, listedAt: listing.listedAt })]);
    } catch (err) {
      this.log.warn(
        { err, listingId: listing.id },
        'the timers of a listing could not be enqueued; trying again',
      );
      this.#loop.wake();
    }
  }

  async #step(): Promise<number> {
    const waiting = await this.market.timed.timers(BATCH);
    if (waiting.length > 0) {
      await this.#enqueue(waiting.map(({ listing }) => listing).filter((listing) => listing !== null));
      await this.market.timed.markTimed(waiting.map(({ place }) => place));
      this.log.info({ listings: waiting.length }, 'timers of listings enqueued');
    }
    return waiting.length === BATCH ? 0 : PAUSE_MS;
  }

  async #enqueue(listings: readonly Listing[]): Promise<void> {
    const now = Date.now();
    await this.queue.enqueueMany(
      listings.flatMap(tasksOf).map(({ name, payload, id, runAt }) => ({
        name,
        payload,
        options: { id, attempts: ATTEMPTS, ...taskHeaders(), ...(runAt > now && { runAt }) },
      })),
    );
  }
}
