/**
 * Trades with `strategy: 'lock'`: each holds the lock of its listing, reads, decides here, and writes if the decision still
 * holds. The rules, their order and the replies are those of the scripts of `strategy: 'script'`.
 */
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';

import {
  marketReadOffer,
  marketReadOrder,
  marketWriteOffer,
  marketWritePurchase,
  marketWriteWithdrawal,
  marketReadWithdrawal,
} from '../scripts.gen.js';
import type { MarketKeys } from './keys.js';
import { FENCE_MS, ListingLock } from './listing-lock.js';
import type { NumberedOffer, NumberedOrder, Withdrawal } from './types.js';
import type { ResolvedMarketOptions } from './options.js';
import { MAX_COINS, WITHDRAWN_MS } from './options.js';
import { readListing, readSale, termsOf } from './records.js';
import type { Reply } from './types.js';

/** The reply of `market.read-order.lua`. */
type OrderState = readonly [
  listing: string | null,
  isSold: number,
  buyersCoins: string | null,
  sellersCoins: string | null,
  earlierId: string | null,
  earlierSale: string | null,
  isOutboxFull: number,
  nowMs: number,
];

/** The reply of `market.read-withdrawal.lua`. */
type WithdrawalState = readonly [listing: string | null, isSold: number, lastWithdrawal: string | null];

/** The reply of `market.read-offer.lua`. */
type OfferState = readonly [
  listing: string | null,
  isSold: number,
  hasSeller: number,
  owner: string | null,
  otherListing: string | null,
];

export class TradeByLock {
  readonly #redis: RedisClient;
  readonly #keys: MarketKeys;
  readonly #options: ResolvedMarketOptions;
  readonly #lock: ListingLock;
  readonly #publish: 'PUBLISH' | 'SPUBLISH';

  constructor(redis: RedisClient, keys: MarketKeys, options: ResolvedMarketOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#options = options;
    this.#lock = new ListingLock(redis, options);
    this.#publish = WaiterHub.of(redis).publishCommand;
  }

  purchase(order: NumberedOrder): Promise<Reply> {
    const { saleId, listingId, buyerId, requestKey = '' } = order;
    const { maxSales } = this.#options;
    return this.#lock.hold(listingId, async (token) => {
      const state = await this.#readOrder(listingId, buyerId, requestKey);
      const early = replyToOrder(order, state);
      if (early) return early;
      const bounds = { fenceMs: FENCE_MS, maxCoins: MAX_COINS, maxSales };
      const sale = { saleId, listingId, listing: state[0] as string, buyerId, requestKey };
      const reply = await marketWritePurchase.run(this.#redis, this.#keysOf(listingId), {
        publish: this.#publish,
        token,
        ...bounds,
        ...sale,
      });
      return reply as Reply;
    });
  }

  withdraw(withdrawal: Withdrawal): Promise<Reply> {
    const { listingId, playerId, withdrawalId } = withdrawal;
    return this.#lock.hold(listingId, async (token) => {
      const keys = this.#keysOf(listingId);
      const state = (await marketReadWithdrawal.run(this.#redis, keys, { listingId })) as WithdrawalState;
      const early = replyToWithdrawal(withdrawal, state);
      if (early) return early;
      return (await marketWriteWithdrawal.run(this.#redis, keys, {
        publish: this.#publish,
        token,
        fenceMs: FENCE_MS,
        listingId,
        listing: state[0] as string,
        playerId,
        withdrawalId,
        keepMs: WITHDRAWN_MS,
      })) as Reply;
    });
  }

  list(offer: NumberedOffer): Promise<Reply> {
    const { id: listingId, sellerId, itemId, price, opensAt = 0, expiresInMs = 0 } = offer;
    return this.#lock.hold(listingId, async (token) => {
      const early = replyToOffer(offer, await this.#readOffer(offer));
      if (early) return early;
      const reply = await marketWriteOffer.run(this.#redis, this.#keysOf(listingId), {
        publish: this.#publish,
        token,
        fenceMs: FENCE_MS,
        listingId,
        sellerId,
        itemId,
        price,
        opensAt,
        expiresInMs,
      });
      return reply as Reply;
    });
  }

  #keysOf(listingId: string): MarketKeys & { readonly fence: string; readonly withdrawn: string } {
    const { fenceOf, withdrawnOf } = this.#keys;
    return { ...this.#keys, fence: fenceOf(listingId), withdrawn: withdrawnOf(listingId) };
  }

  async #readOrder(listingId: string, buyerId: string, requestKey: string): Promise<OrderState> {
    const { maxSales } = this.#options;
    const args = { maxSales, listingId, buyerId, requestKey };
    return (await marketReadOrder.run(this.#redis, this.#keys, args)) as OrderState;
  }

  async #readOffer({ id: listingId, sellerId, itemId }: NumberedOffer): Promise<OfferState> {
    const args = { listingId, sellerId, itemId };
    return (await marketReadOffer.run(this.#redis, this.#keys, args)) as OfferState;
  }
}

/** The reply to an order that is refused or was carried out before; undefined when it may be written. */
function replyToOrder(order: NumberedOrder, state: OrderState): Reply | undefined {
  const [listing, isSold, buyersCoins, sellersCoins, earlierId, earlierSale, isOutboxFull, nowMs] = state;
  if (earlierId !== null && earlierSale !== null) {
    const { listingId, buyerId, price } = readSale(earlierId, earlierSale);
    const isSame =
      listingId === order.listingId && buyerId === order.buyerId && price === order.expectedPrice;
    return isSame ? ['repeated', earlierId, earlierSale] : ['request-reused'];
  }
  if (listing === null) return [isSold ? 'already-sold' : 'unknown-listing'];
  const { sellerId, price, opensAt = 0, expiresAt = Infinity } = readListing(order.listingId, listing);
  if (buyersCoins === null) return ['unknown-player'];
  if (sellerId === order.buyerId) return ['own-listing'];
  if (nowMs < opensAt) return ['not-open', String(opensAt)];
  if (nowMs >= expiresAt) return ['listing-expired', String(expiresAt)];
  if (price !== order.expectedPrice) return ['price-changed', String(price)];
  if (Number(buyersCoins) < price) return ['insufficient-funds', String(price), buyersCoins];
  if (Number(sellersCoins) + price > MAX_COINS) return ['funds-overflow', sellerId];
  return isOutboxFull ? ['outbox-full'] : undefined;
}

/** The reply to a withdrawal that is refused or was made before; undefined when it may be written. */
function replyToWithdrawal(
  { listingId, playerId, withdrawalId }: Withdrawal,
  [listing, isSold, lastWithdrawal]: WithdrawalState,
): Reply | undefined {
  if (lastWithdrawal === `${playerId} ${withdrawalId}`) return ['withdrawn'];
  if (listing === null) {
    if (isSold) return ['already-sold'];
    return [lastWithdrawal?.split(' ')[0] === playerId ? 'withdrawn' : 'unknown-listing'];
  }
  return readListing(listingId, listing).sellerId === playerId ? undefined : ['not-seller'];
}

/** The reply to an offer that is refused or was made before; undefined when it may be written. */
function replyToOffer(offer: NumberedOffer, state: OfferState): Reply | undefined {
  const [listing, isSold, hasSeller, owner, otherListing] = state;
  if (listing !== null) {
    const { itemId, sellerId, price, opensAt = 0, expiresInMs = 0 } = offer;
    const isSame =
      termsOf(readListing(offer.id, listing)) === [itemId, sellerId, price, opensAt, expiresInMs].join(' ');
    return isSame ? ['repeated', listing] : ['request-reused'];
  }
  if (isSold) return ['already-sold'];
  if (!hasSeller) return ['unknown-player'];
  if (owner === null) return otherListing === null ? ['unknown-item'] : ['item-listed', otherListing];
  return owner === offer.sellerId ? undefined : ['not-owner'];
}
