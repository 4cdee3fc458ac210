/**
 * The book's marketplace: players, items, listings, purchases. Each change is one Lua script, hence one atomic step and
 * one round trip; the book's WATCH retries under contention and its locks cost three more round trips. Offers and
 * purchases of the same tick share a script call. Programs that decide in TypeScript instead of Lua take the lock of the
 * listing (`trade-by-lock.ts`); both strategies may run at the same time.
 *
 * A purchase neither makes nor loses coins. A sale stays in the outbox from the step that makes it until `markMailed`, so
 * a process that dies between the sale and the enqueue of its mail loses neither.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, requireClient, requireInteger, requireOneOf, WaiterHub } from '@mortise/redis';
import { v7 as uuid } from 'uuid';

import {
  marketGiveItem,
  marketList,
  marketListings,
  marketOutbox,
  marketPlayer,
  marketPurchase,
  marketPutPlayer,
  marketWithdraw,
} from '../scripts.gen.js';
import { pageOf, readCursor, requireLimit } from './cursor.js';
import { MarketFullError } from './errors.js';
import type { MarketFigures } from './figures.js';
import { figuresOf } from './figures.js';
import { requireId } from './ids.js';
import type { MarketKeys } from './keys.js';
import { marketKeys } from './keys.js';
import { MarketEvents } from './market-events.js';
import type { MarketOptions, ResolvedMarketOptions } from './options.js';
import { MAX_COINS, MAX_TERM_MS, MIN_TERM_MS, resolveMarketOptions, WITHDRAWN_MS } from './options.js';
import { requireProfile } from './profile.js';
import { idOf, readListing, readSale } from './records.js';
import { refusalOf } from './refusals.js';
import { TimedListings } from './timed-listings.js';
import { TradeByLock } from './trade-by-lock.js';
import type {
  Listing,
  ListingSort,
  NumberedOffer,
  NumberedOrder,
  Offer,
  Order,
  Outcome,
  Page,
  PageRequest,
  Player,
  Profile,
  Receipt,
  Reply,
  Strategy,
  Withdrawal,
} from './types.js';
import { STRATEGIES } from './types.js';

const MAX_BATCH = 100;
const MAX_OUTBOX_READ = 1_000;

export class Market {
  /** Opens and expires listings. */
  readonly timed: TimedListings;
  readonly events: MarketEvents;
  readonly #redis: RedisClient;
  readonly #keys: MarketKeys;
  readonly #options: ResolvedMarketOptions;
  readonly #publish: 'PUBLISH' | 'SPUBLISH';
  readonly #offers: Coalescer<'main', NumberedOffer, Outcome<Listing>>;
  readonly #orders: Coalescer<'main', NumberedOrder, Outcome<Receipt>>;
  readonly #mailed: Coalescer<'main', readonly string[], undefined>;
  readonly #byLock: TradeByLock;

  /** @param redis Used as it is and never closed. */
  constructor(redis: RedisClient, options: MarketOptions = {}) {
    this.#redis = requireClient(redis);
    this.#options = resolveMarketOptions(options);
    this.#keys = marketKeys(this.#options.prefix);
    this.#offers = new Coalescer((_, offers) => this.#sendOffers(offers), { maxBatch: MAX_BATCH });
    this.#orders = new Coalescer((_, orders) => this.#sendOrders(orders), { maxBatch: MAX_BATCH });
    this.#mailed = new Coalescer((_, sales) => this.#sendMailed(sales), { maxBatch: MAX_BATCH });
    this.#byLock = new TradeByLock(this.#redis, this.#keys, this.#options);
    this.timed = new TimedListings(this.#redis, this.#keys);
    this.events = new MarketEvents(this.#redis, this.#keys);
    this.#publish = WaiterHub.of(this.#redis).publishCommand;
  }

  /**
   * Creates a player with `funds` (default 0), or changes name and address of one that exists, whose funds stay.
   * Atomic, one round trip, O(1). Repeating it is safe. Throws ERR_INVALID_ID, ERR_MARKET_FULL, and TypeError or RangeError.
   */
  async putPlayer(
    id: string,
    profile: Profile & { readonly funds?: number | undefined },
  ): Promise<{ player: Player; isNew: boolean }> {
    requireId('playerId', id);
    const { name, email } = requireProfile(profile);
    const initial = requireInteger('funds', profile.funds ?? 0, { min: 0, max: MAX_COINS });
    const { maxPlayers } = this.#options;
    const [status, funds] = (await marketPutPlayer.run(this.#redis, this.#keys, {
      playerId: id,
      profile: JSON.stringify({ name, email }),
      initial,
      maxPlayers,
    })) as [string, string];
    if (status === 'market-full') throw new MarketFullError('maxPlayers', maxPlayers);
    return { player: { id, name, email, funds: Number(funds) }, isNew: status === 'created' };
  }

  /** The market in numbers. Two round trips, O(1). */
  async figures(): Promise<MarketFigures> {
    return figuresOf(this.#redis, this.#keys);
  }

  /** The player, or null. One round trip, O(1). Throws ERR_INVALID_ID. */
  async player(id: string): Promise<Player | null> {
    requireId('playerId', id);
    const [profile, funds] = (await marketPlayer.run(this.#redis, this.#keys, { playerId: id })) as (
      | string
      | null
    )[];
    if (!profile) return null;
    const { name, email } = JSON.parse(profile) as Profile;
    return { id, name, email, funds: Number(funds) };
  }

  /**
   * Puts a new item into a player's inventory; false when it is there already. Atomic, one round trip, O(log n).
   * Repeating it is safe; a call that ioredis sends again after a lost reply returns false. Throws ERR_INVALID_ID,
   * ERR_UNKNOWN_PLAYER, ERR_ITEM_TAKEN, ERR_MARKET_FULL.
   */
  async giveItem(playerId: string, itemId: string): Promise<boolean> {
    requireId('playerId', playerId);
    requireId('itemId', itemId);
    const { maxItems } = this.#options;
    const status = await marketGiveItem.run(this.#redis, this.#keys, { playerId, itemId, maxItems });
    if (status === 'given' || status === 'kept') return status === 'given';
    throw refusalOf([status as string], { playerId, itemId, limit: maxItems });
  }

  /**
   * The ids of the items in a player's inventory, by their bytes; empty for a player that doesn't exist. One round trip,
   * O(log n + limit). Throws ERR_INVALID_ID, ERR_INVALID_CURSOR and, for a limit outside 1 to 200, RangeError.
   */
  async itemsOf(playerId: string, request: PageRequest = {}): Promise<Page<string>> {
    requireId('playerId', playerId);
    const limit = requireLimit(request.limit);
    const list = `inventory:${playerId}`;
    const after = readCursor(list, request.cursor);
    // "!" follows the space and is in no id, so these bounds take in all members of this player and no other.
    const first = after === undefined ? `[${playerId} ` : `(${playerId} ${after}`;
    const range = [this.#keys.inventory, first, `(${playerId}!`, 'BYLEX', 'LIMIT', 0, limit + 1];
    const members = (await this.#redis.call('zrange', range)) as string[];
    const itemIds = members.map(idOf);
    return pageOf(list, itemIds, itemIds, limit);
  }

  /**
   * Offers an item: it leaves the seller's inventory and becomes a listing. A listing with `opensAt` can be bought from then
   * on, and `timed.open` puts it into the lists. A listing with `expiresInMs` can be bought until then, and `timed.expire`
   * removes it. Tasks call both. Atomic, one round trip for all offers of a tick, O(log n) each. Repeating it under the same
   * id is safe until the listing is withdrawn or expires.
   * Throws ERR_INVALID_ID, ERR_UNKNOWN_PLAYER, ERR_UNKNOWN_ITEM, ERR_NOT_OWNER, ERR_ITEM_LISTED, ERR_REQUEST_REUSED,
   * ERR_ALREADY_SOLD (a repeated offer, after the sale), and TypeError or RangeError for price and strategy. By lock four
   * round trips for each offer; also ERR_LOCK_TIMEOUT and ERR_STALE_TOKEN.
   */
  async list(offer: Offer): Promise<Outcome<Listing>> {
    const id = requireId('id', offer.id ?? uuid());
    requireId('sellerId', offer.sellerId);
    requireId('itemId', offer.itemId);
    requirePrice('price', offer.price);
    requireTerms(offer);
    const numbered = { ...offer, id };
    const { value, isRepeated } = isByLock(offer)
      ? valueOf(this.#listed(numbered, await this.#byLock.list(numbered)))
      : await this.#offers.submit('main', numbered);
    // A listing with an id made here is no earlier offer: its reply was lost, and the client sent it again.
    return { value, isRepeated: isRepeated && offer.id !== undefined };
  }

  /** The listing, or null when it never existed, is sold or withdrawn. One round trip, O(1). Throws ERR_INVALID_ID. */
  async listing(id: string): Promise<Listing | null> {
    requireId('listingId', id);
    const record = (await this.#redis.call('hget', [this.#keys.listings, id])) as string | null;
    return record === null ? null : readListing(id, record);
  }

  /**
   * A page of the listings: the newest first (default), or the cheapest first. One round trip, O(log n + limit).
   * Throws ERR_INVALID_CURSOR and, for a limit outside 1 to 200, RangeError.
   */
  async listings(
    request: PageRequest & { readonly sort?: ListingSort | undefined } = {},
  ): Promise<Page<Listing>> {
    const limit = requireLimit(request.limit);
    const sort = requireOneOf('sort', request.sort ?? 'newest', ['newest', 'price']);
    const after = readCursor(sort, request.cursor);
    const isNewest = sort === 'newest';
    const [members, records] = (await marketListings.run(
      this.#redis,
      { index: isNewest ? this.#keys.newest : this.#keys.prices, listings: this.#keys.listings },
      {
        first: after === undefined ? (isNewest ? '+' : '-') : `(${after}`,
        last: isNewest ? '-' : '+',
        isReversed: isNewest ? 1 : 0,
        limit: limit + 1,
      },
    )) as [string[], string[]];
    const items = members.map((member, index) => readListing(idOf(member), records[index] as string));
    return pageOf(sort, members, items, limit);
  }

  /**
   * Takes a listing back; the item returns to the inventory. Atomic, one round trip, O(log n). The seller may repeat it
   * for an hour; after that it throws ERR_UNKNOWN_LISTING. Throws ERR_INVALID_ID, ERR_UNKNOWN_LISTING, ERR_ALREADY_SOLD, ERR_NOT_SELLER, and RangeError for
   * the strategy. By lock four round trips; also ERR_LOCK_TIMEOUT and ERR_STALE_TOKEN.
   */
  async withdraw(
    listingId: string,
    playerId: string,
    options: { readonly strategy?: Strategy | undefined } = {},
  ): Promise<void> {
    requireId('listingId', listingId);
    requireId('playerId', playerId);
    const withdrawal = { listingId, playerId, withdrawalId: uuid() };
    const [status] = isByLock(options)
      ? await this.#byLock.withdraw(withdrawal)
      : [await this.#withdraw(withdrawal)];
    if (status !== 'withdrawn') throw refusalOf([status], { listingId, playerId });
  }

  /**
   * Buys a listing: one step moves the coins and the item, writes the receipt, and puts the sale into the outbox. Atomic, one
   * round trip for all purchases of a tick, O(log n) each; by lock four round trips each. After a lost reply the purchase may
   * be made: repeat it under the same request key. Of two simultaneous buyers one wins; the other gets ERR_ALREADY_SOLD.
   * Throws ERR_INVALID_ID, ERR_UNKNOWN_LISTING, ERR_ALREADY_SOLD, ERR_UNKNOWN_PLAYER, ERR_OWN_LISTING, ERR_PRICE_CHANGED,
   * ERR_INSUFFICIENT_FUNDS, ERR_FUNDS_OVERFLOW, ERR_REQUEST_REUSED, ERR_OUTBOX_FULL, ERR_NOT_OPEN, ERR_LISTING_EXPIRED, and
   * TypeError or RangeError for price and strategy; by lock also ERR_LOCK_TIMEOUT and ERR_STALE_TOKEN.
   */
  async purchase(order: Order): Promise<Outcome<Receipt>> {
    requireId('listingId', order.listingId);
    requireId('buyerId', order.buyerId);
    requirePrice('expectedPrice', order.expectedPrice);
    if (order.requestKey !== undefined) requireId('requestKey', order.requestKey);
    const numbered = { ...order, saleId: uuid() };
    if (!isByLock(order)) return await this.#orders.submit('main', numbered);
    return valueOf(this.#sold(numbered, await this.#byLock.purchase(numbered)));
  }

  /** The receipt of a sale, or null when the sale never happened or its receipt was dropped. One round trip, O(1). */
  async sale(id: string): Promise<Receipt | null> {
    requireId('saleId', id);
    const record = (await this.#redis.call('hget', [this.#keys.sales, id])) as string | null;
    return record === null ? null : readSale(id, record);
  }

  /** The oldest sales without a call of `markMailed`, at most 1,000. One round trip, O(log n + limit). */
  async outbox(limit = 100): Promise<Receipt[]> {
    requireInteger('limit', limit, { min: 1, max: MAX_OUTBOX_READ });
    const [ids, records] = (await marketOutbox.run(this.#redis, this.#keys, { limit })) as [
      string[],
      string[],
    ];
    return ids.map((id, index) => readSale(id, records[index] as string));
  }

  /**
   * Removes sales from the outbox, once their mails are enqueued. One round trip for all calls of a tick, O(n log n).
   * Repeating it is safe.
   */
  async markMailed(saleIds: readonly string[]): Promise<void> {
    for (const id of saleIds) requireId('saleId', id);
    if (saleIds.length > 0) await this.#mailed.submit('main', saleIds);
  }

  async #withdraw(withdrawal: Withdrawal): Promise<string> {
    const keys = { ...this.#keys, withdrawn: this.#keys.withdrawnOf(withdrawal.listingId) };
    const status = await marketWithdraw.run(this.#redis, keys, {
      publish: this.#publish,
      ...withdrawal,
      keepMs: WITHDRAWN_MS,
    });
    return status as string;
  }

  async #sendOffers(offers: readonly NumberedOffer[]): Promise<(Outcome<Listing> | Error)[]> {
    const replies = (await marketList.run(this.#redis, this.#keys, {
      publish: this.#publish,
      offers: offers.flatMap(({ id, sellerId, itemId, price, opensAt = 0, expiresInMs = 0 }) => [
        id,
        sellerId,
        itemId,
        price,
        opensAt,
        expiresInMs,
      ]),
    })) as Reply[];
    return replies.map((reply, index) => this.#listed(offers[index] as NumberedOffer, reply));
  }

  #listed({ id, sellerId: playerId, itemId }: NumberedOffer, reply: Reply): Outcome<Listing> | Error {
    const [status, detail = ''] = reply;
    const isRepeated = status === 'repeated';
    if (isRepeated || status === 'listed') return { value: readListing(id, detail), isRepeated };
    return refusalOf(reply, { playerId, itemId, listingId: id, requestKey: id });
  }

  async #sendOrders(orders: readonly NumberedOrder[]): Promise<(Outcome<Receipt> | Error)[]> {
    const replies = (await marketPurchase.run(this.#redis, this.#keys, {
      publish: this.#publish,
      maxCoins: MAX_COINS,
      maxSales: this.#options.maxSales,
      orders: orders.flatMap(({ saleId, listingId, buyerId, expectedPrice, requestKey }) => [
        saleId,
        listingId,
        buyerId,
        expectedPrice,
        requestKey ?? '',
      ]),
    })) as Reply[];
    return replies.map((reply, index) => this.#sold(orders[index] as NumberedOrder, reply));
  }

  #sold({ buyerId: playerId, ...order }: NumberedOrder, reply: Reply): Outcome<Receipt> | Error {
    const [status, detail = '', more = ''] = reply;
    if (status === 'sold' || status === 'repeated') {
      // A sale with the id of this call is no earlier purchase: its reply was lost, and the client sent it again.
      return { value: readSale(detail, more), isRepeated: detail !== order.saleId };
    }
    return refusalOf(reply, { ...order, playerId, limit: this.#options.maxSales });
  }

  async #sendMailed(sales: readonly (readonly string[])[]): Promise<undefined[]> {
    await this.#redis.call('zrem', [this.#keys.outbox, ...sales.flat()]);
    return sales.map(() => undefined);
  }
}

/** Throws RangeError for an unknown strategy. */
function isByLock({ strategy = 'script' }: { readonly strategy?: Strategy | undefined }): boolean {
  return requireOneOf('strategy', strategy, STRATEGIES) === 'lock';
}

function valueOf<T>(outcome: T | Error): T {
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

function requireTerms({ opensAt, expiresInMs }: Offer): void {
  if (opensAt !== undefined) requireInteger('opensAt', opensAt, { min: 1, max: Date.now() + MAX_TERM_MS });
  if (expiresInMs !== undefined)
    requireInteger('expiresInMs', expiresInMs, { min: MIN_TERM_MS, max: MAX_TERM_MS });
}

function requirePrice(option: string, price: number): void {
  requireInteger(option, price, { min: 1, max: MAX_COINS });
}
