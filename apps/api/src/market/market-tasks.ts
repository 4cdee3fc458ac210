/**
 * The tasks that open and expire listings. The listing in Redis is the truth, and a task only makes the market check it. So a
 * task that runs twice, late or for a listing that is gone changes nothing. Its id names the listing, so no task exists twice.
 */
import type { Listing, ListingRef } from './types.js';

export const MARKET_QUEUE = 'market';

export type MarketTasks = {
  /** Opens a listing that is due. */
  'market.open': ListingRef;
  /** Removes an expired listing, and enqueues the mail to its seller. */
  'market.expire': ListingRef;
};

export const MARKET_TASKS = [
  'market.open',
  'market.expire',
] as const satisfies readonly (keyof MarketTasks)[];

export interface MarketTask {
  readonly name: keyof MarketTasks;
  readonly payload: ListingRef;
  readonly id: string;
  /** ms since the epoch. */
  readonly runAt: number;
}

/** The tasks of a listing that opens or expires. */
export function tasksOf({ id, listedAt, opensAt, expiresAt }: Listing): MarketTask[] {
  const payload = { listingId: id, listedAt };
  const tasks: MarketTask[] = [];
  if (opensAt !== undefined && opensAt > listedAt) {
    tasks.push({ name: 'market.open', payload, id: `open:${id}:${listedAt}`, runAt: opensAt });
  }
  if (expiresAt !== undefined) {
    tasks.push({ name: 'market.expire', payload, id: `expire:${id}:${listedAt}`, runAt: expiresAt });
  }
  return tasks;
}

/** The id of the mail to the seller. */
export function expiredMailId({ listingId, listedAt }: ListingRef): string {
  return `expired:${listingId}:${listedAt}`;
}
