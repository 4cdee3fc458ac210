/**
 * What happens to listings by itself. The truth is the listing, in Redis: a task only has the market look at it, so running one
 * twice, late or for a listing that is gone changes nothing. Ids tell of which listing a task is, so none is there twice.
 */
import type { Listing, ListingRef } from './types.js';

export const MARKET_QUEUE = 'market';

export type MarketTasks = {
  /** Shows a listing whose time has come. */
  'market.open': ListingRef;
  /** Takes a listing back whose time is over, and has its seller told. */
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

/** The tasks of a listing that opens or expires by itself. */
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

/** The task that tells the seller. */
export function expiredMailId({ listingId, listedAt }: ListingRef): string {
  return `expired:${listingId}:${listedAt}`;
}
