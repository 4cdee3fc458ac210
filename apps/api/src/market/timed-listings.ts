/**
 * Listings that open or expire by themselves. Both instants stand in the listing, and what may be bought follows from them and the
 * clock of the server; what happens here is only what others see of it: the lists, and the item that goes back. So it may happen
 * late, and twice.
 */
import type { RedisClient } from '@mortise/redis';
import { requireInteger } from '@mortise/redis';

import { marketExpire, marketOpen, marketTimers } from '../scripts.gen.js';
import { requireId } from './ids.js';
import type { MarketKeys } from './keys.js';
import { idOf, readListing } from './records.js';
import type { Listing, ListingRef, Reply, Timed } from './types.js';

const MAX_TIMERS_READ = 1_000;

export class TimedListings {
  readonly #redis: RedisClient;
  readonly #keys: MarketKeys;

  constructor(redis: RedisClient, keys: MarketKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Shows a listing, if its time has come. Atomic, one round trip, O(log n). Repeating it is safe. Throws ERR_INVALID_ID. */
  async open(ref: ListingRef): Promise<Timed> {
    const [status, detail] = (await marketOpen.run(this.#redis, this.#keys, refArgs(ref))) as Reply;
    return status === 'opened' ? { status: 'done' } : untimely(status, detail);
  }

  /**
   * Takes a listing back, if its time is over: the item returns to the inventory. It stays among the expired listings, and
   * repeated calls tell of it, until `markExpiryMailed`. Atomic, one round trip, O(log n). Throws ERR_INVALID_ID.
   */
  async expire(ref: ListingRef): Promise<Timed> {
    const [status, detail = ''] = (await marketExpire.run(this.#redis, this.#keys, refArgs(ref))) as Reply;
    if (status !== 'expired') return untimely(status, detail);
    return { status: 'done', listing: readListing(ref.listingId, detail) };
  }

  /** The mail to the seller of an expired listing is enqueued. One round trip. Repeating it is safe. */
  async markExpiryMailed(ref: ListingRef): Promise<void> {
    await this.#redis.call('hdel', [this.#keys.expired, placeOf(ref)]);
  }

  /**
   * Listings that open or expire by themselves and that `markTimed` has not been called for, the oldest first, at most 1,000;
   * those that are gone as their ids alone. One round trip, O(log n + limit).
   */
  async timers(limit = 100): Promise<{ readonly place: string; readonly listing: Listing | null }[]> {
    requireInteger('limit', limit, { min: 1, max: MAX_TIMERS_READ });
    const [places, records] = (await marketTimers.run(this.#redis, this.#keys, { limit })) as [
      string[],
      (string | null)[],
    ];
    return places.map((place, index) => {
      const record = records[index];
      return { place, listing: record ? readListing(idOf(place), record) : null };
    });
  }

  /** The tasks of these listings are enqueued. @param places As `timers` tells them. One round trip. Repeating it is safe. */
  async markTimed(places: readonly string[]): Promise<void> {
    if (places.length > 0) await this.#redis.call('zrem', [this.#keys.timers, ...places]);
  }
}

/** Where a listing stands in `timers` and `expired`. */
export function placeOf({ listingId, listedAt }: ListingRef): string {
  return `${String(listedAt).padStart(13, '0')} ${listingId}`;
}

function refArgs({ listingId, listedAt }: ListingRef): { listingId: string; listedAt: string } {
  requireId('listingId', listingId);
  requireInteger('listedAt', listedAt, { min: 0, max: 9_999_999_999_999 });
  return { listingId, listedAt: String(listedAt).padStart(13, '0') };
}

function untimely(status: string, detail: string | undefined): Timed {
  return status === 'early' ? { status, inMs: Number(detail) } : { status: 'gone' };
}
