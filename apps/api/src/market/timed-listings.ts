/**
 * Opens and expires listings. A purchase compares both instants, which stand in the listing, with the server's clock. The steps
 * here only change what others see: the lists, and the item that returns to the seller. So they may run late, and twice.
 */
import type { RedisClient } from '@mortise/redis';
import { requireInteger, WaiterHub } from '@mortise/redis';

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

  /** Puts a listing into the lists, if it is due. Atomic, one round trip, O(log n). Repeating it is safe. Throws ERR_INVALID_ID. */
  async open(ref: ListingRef): Promise<Timed> {
    const [status, detail] = (await marketOpen.run(this.#redis, this.#keys, this.#argsOf(ref))) as Reply;
    return status === 'opened' ? { status: 'done' } : notDone(status, detail);
  }

  /**
   * Removes a listing that has expired: the item returns to the inventory. The listing stays among the expired ones, and
   * repeated calls return it, until `markExpiryMailed`. Atomic, one round trip, O(log n). Throws ERR_INVALID_ID.
   */
  async expire(ref: ListingRef): Promise<Timed> {
    const [status, detail = ''] = (await marketExpire.run(
      this.#redis,
      this.#keys,
      this.#argsOf(ref),
    )) as Reply;
    if (status !== 'expired') return notDone(status, detail);
    return { status: 'done', listing: readListing(ref.listingId, detail) };
  }

  /** Marks the mail to the seller of an expired listing as enqueued. One round trip. Repeating it is safe. */
  async markExpiryMailed(ref: ListingRef): Promise<void> {
    await this.#redis.call('hdel', [this.#keys.expired, placeOf(ref)]);
  }

  /**
   * Listings that open or expire, without a call of `markTimed`, the oldest first, at most 1,000. `listing` is null for one
   * that is gone. One round trip, O(log n + limit).
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

  /** Marks the tasks of these listings as enqueued. @param places From `timers`. One round trip. Repeating it is safe. */
  async markTimed(places: readonly string[]): Promise<void> {
    if (places.length > 0) await this.#redis.call('zrem', [this.#keys.timers, ...places]);
  }

  #argsOf({ listingId, listedAt }: ListingRef): { publish: string; listingId: string; listedAt: string } {
    requireId('listingId', listingId);
    requireInteger('listedAt', listedAt, { min: 0, max: 9_999_999_999_999 });
    const { publishCommand: publish } = WaiterHub.of(this.#redis);
    return { publish, listingId, listedAt: String(listedAt).padStart(13, '0') };
  }
}

/** The field of a listing in `timers` and `expired`. */
export function placeOf({ listingId, listedAt }: ListingRef): string {
  return `${String(listedAt).padStart(13, '0')} ${listingId}`;
}

function notDone(status: string, detail: string | undefined): Timed {
  return status === 'early' ? { status, inMs: Number(detail) } : { status: 'gone' };
}
