/** Turns the statuses with which scripts refuse into errors. */
import * as errors from './errors.js';
import type { Offer, Order } from './types.js';
import { MAX_COINS } from './options.js';

export function itemRefusal(
  status: string,
  { playerId, itemId, maxItems }: { playerId: string; itemId: string; maxItems: number },
): Error {
  switch (status) {
    case 'unknown-player':
      return new errors.UnknownPlayerError(playerId);
    case 'item-taken':
      return new errors.ItemTakenError(itemId);
    case 'market-full':
      return new errors.MarketFullError('maxItems', maxItems);
    default:
      return unexpected(status);
  }
}

export function offerRefusal(
  status: string,
  offer: Offer & { readonly id: string },
  listingId: string,
): Error {
  switch (status) {
    case 'unknown-player':
      return new errors.UnknownPlayerError(offer.sellerId);
    case 'unknown-item':
      return new errors.UnknownItemError(offer.itemId);
    case 'not-owner':
      return new errors.NotOwnerError(offer.itemId, offer.sellerId);
    case 'item-listed':
      return new errors.ItemListedError(offer.itemId, listingId);
    case 'request-reused':
      return new errors.RequestReusedError(offer.id);
    case 'already-sold':
      return new errors.AlreadySoldError(offer.id);
    default:
      return unexpected(status);
  }
}

export function withdrawalRefusal(
  status: string,
  { listingId, playerId }: { listingId: string; playerId: string },
): Error {
  switch (status) {
    case 'unknown-listing':
      return new errors.UnknownListingError(listingId);
    case 'already-sold':
      return new errors.AlreadySoldError(listingId);
    case 'not-seller':
      return new errors.NotSellerError(listingId, playerId);
    default:
      return unexpected(status);
  }
}

export function orderRefusal(
  status: string,
  { listingId, buyerId, expectedPrice, requestKey }: Order,
  [first, second]: readonly [string, string],
  maxSales: number,
): Error {
  switch (status) {
    case 'unknown-listing':
      return new errors.UnknownListingError(listingId);
    case 'already-sold':
      return new errors.AlreadySoldError(listingId);
    case 'unknown-player':
      return new errors.UnknownPlayerError(buyerId);
    case 'own-listing':
      return new errors.OwnListingError(listingId, buyerId);
    case 'not-open':
      return new errors.NotOpenError(listingId, Number(first));
    case 'listing-expired':
      return new errors.ListingExpiredError(listingId, Number(first));
    case 'price-changed':
      return new errors.PriceChangedError(listingId, expectedPrice, Number(first));
    case 'insufficient-funds':
      return new errors.InsufficientFundsError(buyerId, Number(first), Number(second));
    case 'funds-overflow':
      return new errors.FundsOverflowError(first, MAX_COINS);
    case 'request-reused':
      return new errors.RequestReusedError(requestKey ?? '');
    case 'outbox-full':
      return new errors.OutboxFullError(maxSales);
    default:
      return unexpected(status);
  }
}

function unexpected(status: string): Error {
  return new Error(`a market script replied "${status}"`);
}
