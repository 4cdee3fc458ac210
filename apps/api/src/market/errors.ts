/** Every refusal of the market. A call that throws one has changed nothing. */
import { CodedError } from '@mortise/redis';

export abstract class MarketRefusal extends CodedError {}

export class InvalidIdError extends MarketRefusal {
  readonly code = 'ERR_INVALID_ID';

  constructor(readonly field: string) {
    super(`${field} must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : -, and not . or ..`);
  }
}

export class InvalidCursorError extends MarketRefusal {
  readonly code = 'ERR_INVALID_CURSOR';

  constructor() {
    super('the cursor is not one that a page of this list has given');
  }
}

export class UnknownPlayerError extends MarketRefusal {
  readonly code = 'ERR_UNKNOWN_PLAYER';

  constructor(readonly playerId: string) {
    super(`there is no player "${playerId}"`);
  }
}

export class UnknownItemError extends MarketRefusal {
  readonly code = 'ERR_UNKNOWN_ITEM';

  constructor(readonly itemId: string) {
    super(`there is no item "${itemId}"`);
  }
}

/** The item belongs to another player, or it is listed. */
export class ItemTakenError extends MarketRefusal {
  readonly code = 'ERR_ITEM_TAKEN';

  constructor(readonly itemId: string) {
    super(`item "${itemId}" belongs to somebody already`);
  }
}

export class NotOwnerError extends MarketRefusal {
  readonly code = 'ERR_NOT_OWNER';

  constructor(
    readonly itemId: string,
    readonly playerId: string,
  ) {
    super(`item "${itemId}" is not in the inventory of player "${playerId}"`);
  }
}

export class ItemListedError extends MarketRefusal {
  readonly code = 'ERR_ITEM_LISTED';

  constructor(
    readonly itemId: string,
    readonly listingId: string,
  ) {
    super(`item "${itemId}" is in listing "${listingId}" already`);
  }
}

/** The listing never existed, or its seller has withdrawn it. */
export class UnknownListingError extends MarketRefusal {
  readonly code = 'ERR_UNKNOWN_LISTING';

  constructor(readonly listingId: string) {
    super(`there is no listing "${listingId}"`);
  }
}

export class AlreadySoldError extends MarketRefusal {
  readonly code = 'ERR_ALREADY_SOLD';

  constructor(readonly listingId: string) {
    super(`listing "${listingId}" has been sold`);
  }
}

export class NotSellerError extends MarketRefusal {
  readonly code = 'ERR_NOT_SELLER';

  constructor(
    readonly listingId: string,
    readonly playerId: string,
  ) {
    super(`listing "${listingId}" is not of player "${playerId}"`);
  }
}

export class OwnListingError extends MarketRefusal {
  readonly code = 'ERR_OWN_LISTING';

  constructor(
    readonly listingId: string,
    readonly playerId: string,
  ) {
    super(`player "${playerId}" is the seller of listing "${listingId}"`);
  }
}

/** The listing opens later. */
export class NotOpenError extends MarketRefusal {
  readonly code = 'ERR_NOT_OPEN';

  constructor(
    readonly listingId: string,
    readonly opensAt: number,
  ) {
    super(`listing "${listingId}" opens at ${opensAt}`);
  }
}

/** The listing has expired; its item is about to return to the seller. */
export class ListingExpiredError extends MarketRefusal {
  readonly code = 'ERR_LISTING_EXPIRED';

  constructor(
    readonly listingId: string,
    readonly expiresAt: number,
  ) {
    super(`listing "${listingId}" expired at ${expiresAt}`);
  }
}

export class PriceChangedError extends MarketRefusal {
  readonly code = 'ERR_PRICE_CHANGED';

  constructor(
    readonly listingId: string,
    readonly expectedPrice: number,
    readonly price: number,
  ) {
    super(`listing "${listingId}" costs ${price}, not ${expectedPrice}`);
  }
}

export class InsufficientFundsError extends MarketRefusal {
  readonly code = 'ERR_INSUFFICIENT_FUNDS';

  constructor(
    readonly playerId: string,
    readonly price: number,
    readonly funds: number,
  ) {
    super(`player "${playerId}" has ${funds} of ${price} coins`);
  }
}

/** The seller would have more coins than the market counts. */
export class FundsOverflowError extends MarketRefusal {
  readonly code = 'ERR_FUNDS_OVERFLOW';

  constructor(
    readonly playerId: string,
    readonly limit: number,
  ) {
    super(`player "${playerId}" would have more than ${limit} coins`);
  }
}

/** An earlier request had the same request key or listing id, and other content. */
export class RequestReusedError extends MarketRefusal {
  readonly code = 'ERR_REQUEST_REUSED';

  constructor(readonly requestKey: string) {
    super(`request "${requestKey}" came before with other content`);
  }
}

/** The caller lost the lock of the listing, and a later holder has written already. */
export class StaleTokenError extends MarketRefusal {
  readonly code = 'ERR_STALE_TOKEN';

  constructor(
    readonly listingId: string,
    readonly fencingToken: number,
    readonly lastToken: number,
  ) {
    super(`the lock of listing "${listingId}" was lost: token ${fencingToken} came after ${lastToken}`);
  }
}

export class MarketFullError extends MarketRefusal {
  readonly code = 'ERR_MARKET_FULL';

  constructor(
    readonly option: 'maxPlayers' | 'maxItems',
    readonly limit: number,
  ) {
    super(`${option} is reached: ${limit}`);
  }
}

/** The oldest receipt should be dropped, but its mail is not enqueued yet: the queue has refused mails for a long time. */
export class OutboxFullError extends MarketRefusal {
  readonly code = 'ERR_OUTBOX_FULL';

  constructor(readonly limit: number) {
    super(`the mails of ${limit} sales wait to be enqueued`);
  }
}
