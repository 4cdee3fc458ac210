/**
 * What `strategy: 'lock'` does: it holds the listing, reads, decides here, and writes if the decision still stands. The
 * rules are those of the scripts without a lock, in their order, and replies are as theirs.
 */
import type { RedisClient } from '@mortise/redis';

import {
  marketOffer,
  marketOrder,
  marketSettleOffer,
  marketSettlePurchase,
  marketSettleWithdrawal,
  marketWithdrawal,
} from '../scripts.gen.js';
import type { MarketKeys } from './keys.js';
import { FENCE_MS, ListingLock } from './listing-lock.js';
import type { NumberedOffer, NumberedOrder, Withdrawal } from './market.js';
import type { ResolvedMarketOptions } from './options.js';
import { MAX_COINS, WITHDRAWN_MS } from './options.js';
import { readListing, readSale, termsOf } from './records.js';
import type { Reply } from './types.js';

/** What `market.order.lua` reads. */
type OrderSight = readonly [
  listing: string | null,
  isSold: number,
  buyersCoins: string | null,
  sellersCoins: string | null,
  earlierId: string | null,
  earlierSale: string | null,
  isOutboxFull: number,
  nowMs: number,
];

/** What `market.withdrawal.lua` reads. */
type WithdrawalSight = readonly [listing: string | null, isSold: number, lastWithdrawal: string | null];

/** What `market.offer.lua` reads. */
type OfferSight = readonly [
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

  constructor(redis: RedisClient, keys: MarketKeys, options: ResolvedMarketOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#options = options;
    this.#lock = new ListingLock(redis, options);
  }

  purchase(order: NumberedOrder): Promise<Reply> {
    const { saleId, listingId, buyerId, requestKey = '' } = order;
    const { maxSales } = this.#options;
    return this.#lock.hold(listingId, async (token) => {
      const sight = await this.#readOrder(listingId, buyerId, requestKey);
      const refusal = refusalOfOrder(order, sight);
      if (refusal) return refusal;
      const bounds = { fenceMs: FENCE_MS, maxCoins: MAX_COINS, maxSales };
      const sale = { saleId, listingId, listing: sight[0] as string, buyerId, requestKey };
      const reply = await marketSettlePurchase.run(this.#redis, this.#keysOf(listingId), {
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
      const sight = (await marketWithdrawal.run(this.#redis, keys, { listingId })) as WithdrawalSight;
      const reply = replyWithoutWrite(withdrawal, sight);
      if (reply) return reply;
      return (await marketSettleWithdrawal.run(this.#redis, keys, {
        token,
        fenceMs: FENCE_MS,
        listingId,
        listing: sight[0] as string,
        playerId,
        withdrawalId,
        keepMs: WITHDRAWN_MS,
      })) as Reply;
    });
  }

  list(offer: NumberedOffer): Promise<Reply> {
    const { id: listingId, sellerId, itemId, price, opensAt = 0, expiresInMs = 0 } = offer;
    return this.#lock.hold(listingId, async (token) => {
      const refusal = refusalOfOffer(offer, await this.#readOffer(offer));
      if (refusal) return refusal;
      const reply = await marketSettleOffer.run(this.#redis, this.#keysOf(listingId), {
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

  async #readOrder(listingId: string, buyerId: string, requestKey: string): Promise<OrderSight> {
    const { maxSales } = this.#options;
    const args = { maxSales, listingId, buyerId, requestKey };
    return (await marketOrder.run(this.#redis, this.#keys, args)) as OrderSight;
  }

  async #readOffer({ id: listingId, sellerId, itemId }: NumberedOffer): Promise<OfferSight> {
    const args = { listingId, sellerId, itemId };
    return (await marketOffer.run(this.#redis, this.#keys, args)) as OfferSight;
  }
}

/** Why the order cannot be carried out, or that it was before. */
function refusalOfOrder(order: NumberedOrder, sight: OrderSight): Reply | undefined {
  const [listing, isSold, buyersCoins, sellersCoins, earlierId, earlierSale, isOutboxFull, nowMs] = sight;
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

/** Why the listing cannot be withdrawn, or that it was before. */
function replyWithoutWrite(
  { listingId, playerId, withdrawalId }: Withdrawal,
  [listing, isSold, lastWithdrawal]: WithdrawalSight,
): Reply | undefined {
  if (lastWithdrawal === `${playerId} ${withdrawalId}`) return ['withdrawn'];
  if (listing === null) {
    if (isSold) return ['already-sold'];
    return [lastWithdrawal?.split(' ')[0] === playerId ? 'withdrawn' : 'unknown-listing'];
  }
  return readListing(listingId, listing).sellerId === playerId ? undefined : ['not-seller'];
}

/** Why the listing cannot be made, or that it was before. */
function refusalOfOffer(offer: NumberedOffer, sight: OfferSight): Reply | undefined {
  const [listing, isSold, hasSeller, owner, otherListing] = sight;
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
