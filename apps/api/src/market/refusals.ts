/** Turns the statuses with which scripts refuse into errors. */
import * as errors from './errors.js';
import { MAX_COINS } from './options.js';
import type { Reply } from './types.js';

/** The subjects of a refused call; each status needs some of them. */
interface Subjects {
  readonly playerId: string;
  readonly itemId?: string;
  readonly listingId?: string;
  readonly requestKey?: string | undefined;
  readonly expectedPrice?: number;
  /** The reached limit of the market. */
  readonly limit?: number;
}

export function refusalOf([status, first = '', second = '']: Reply, subjects: Subjects): Error {
  const { playerId, itemId = '', listingId = '', requestKey = '', expectedPrice = 0, limit = 0 } = subjects;
  switch (status) {
    case 'unknown-player':
      return new errors.UnknownPlayerError(playerId);
    case 'unknown-item':
      return new errors.UnknownItemError(itemId);
    case 'item-taken':
      return new errors.ItemTakenError(itemId);
    case 'not-owner':
      return new errors.NotOwnerError(itemId, playerId);
    case 'item-listed':
      return new errors.ItemListedError(itemId, first);
    case 'market-full':
      return new errors.MarketFullError('maxItems', limit);
    case 'unknown-listing':
      return new errors.UnknownListingError(listingId);
    case 'already-sold':
      return new errors.AlreadySoldError(listingId);
    case 'not-seller':
      return new errors.NotSellerError(listingId, playerId);
    case 'own-listing':
      return new errors.OwnListingError(listingId, playerId);
    case 'not-open':
      return new errors.NotOpenError(listingId, Number(first));
    case 'listing-expired':
      return new errors.ListingExpiredError(listingId, Number(first));
    case 'price-changed':
      return new errors.PriceChangedError(listingId, expectedPrice, Number(first));
    case 'insufficient-funds':
      return new errors.InsufficientFundsError(playerId, Number(first), Number(second));
    case 'funds-overflow':
      return new errors.FundsOverflowError(first, MAX_COINS);
    case 'request-reused':
      return new errors.RequestReusedError(requestKey);
    case 'outbox-full':
      return new errors.OutboxFullError(limit);
    default:
      return new Error(`a market script replied "${status}"`);
  }
}
