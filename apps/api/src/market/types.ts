/**
 * Terms of the market. A *player* has funds and an inventory of *items*. An item that is offered at a price leaves the
 * inventory and becomes a *listing*. A purchase turns the listing into a *sale*, and its receipt is kept.
 * Money is a whole number of coins. Instants are ms since the epoch, on the clock of the Redis server.
 */
export interface Profile {
  readonly name: string;
  /** One address, by the rule of `isMailAddress`. */
  readonly email: string;
}

export interface Player extends Profile {
  readonly id: string;
  readonly funds: number;
}

export interface Listing {
  readonly id: string;
  readonly itemId: string;
  readonly sellerId: string;
  readonly price: number;
  readonly listedAt: number;
  /** Nobody can buy it before then, and no list shows it. */
  readonly opensAt?: number;
  /** Nobody can buy it from then on; the item returns to the seller. */
  readonly expiresAt?: number;
}

/** The outcome of opening or expiring a listing: `gone` when it was sold or withdrawn, or its id names another one now. */
export type Timed =
  | { readonly status: 'done'; readonly listing?: Listing }
  | { readonly status: 'gone' }
  | { readonly status: 'early'; readonly inMs: number };

export interface Receipt {
  /** A uuid v7; also the id of the task that mails the seller. */
  readonly id: string;
  readonly listingId: string;
  readonly itemId: string;
  readonly sellerId: string;
  readonly buyerId: string;
  readonly price: number;
  readonly soldAt: number;
}

/** Identifies a listing. Its id alone does not: another listing may get it after a withdrawal or an expiry. */
export interface ListingRef {
  readonly listingId: string;
  readonly listedAt: number;
}

/** The result of a mutating call, and whether an earlier call with the same id had made it. */
export interface Outcome<T> {
  readonly value: T;
  readonly isRepeated: boolean;
}

/**
 * How a change is made. `script`: one script reads, decides and writes. `lock`: the book's fine-grained lock; the process
 * reads and decides while it holds the listing, and a script writes unless the lock was lost. The results are the same.
 * `lock` costs four round trips instead of one, and suits decisions that cannot be made in Lua.
 */
export type Strategy = 'script' | 'lock';

export const STRATEGIES = ['script', 'lock'] as const satisfies readonly Strategy[];

/** The reply of a script that changes the market: a status and its details. */
export type Reply = readonly [status: string, detail?: string, more?: string];

/** A page of a list, and the cursor of the next page; `null` at the end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export type ListingSort = 'newest' | 'price';

export interface PageRequest {
  /** From the page before. Default: the beginning. */
  readonly cursor?: string | undefined;
  /** 1 to 200. Default 50. */
  readonly limit?: number | undefined;
}

export interface Offer {
  /** Repeating an offer under the same id is safe. Default: a new uuid v7. */
  readonly id?: string | undefined;
  readonly sellerId: string;
  readonly itemId: string;
  /** 1 to 10^12 coins. */
  readonly price: number;
  /** When the sale begins, ms since the epoch; up to a year ahead. Default: at once. */
  readonly opensAt?: number | undefined;
  /** How long the listing stays open, ms: a second to a year. Default: until it is sold or withdrawn. */
  readonly expiresInMs?: number | undefined;
  /** Default `script`. */
  readonly strategy?: Strategy | undefined;
}

export interface Order {
  readonly listingId: string;
  readonly buyerId: string;
  /** The price that the buyer saw. A listing with another price refuses the purchase. */
  readonly expectedPrice: number;
  /** Repeating a purchase under the same key returns the first receipt, as long as it is kept. */
  readonly requestKey?: string | undefined;
  /** Default `script`. */
  readonly strategy?: Strategy | undefined;
}

export interface NumberedOffer extends Offer {
  readonly id: string;
}

export interface NumberedOrder extends Order {
  readonly saleId: string;
}

export interface Withdrawal {
  readonly listingId: string;
  readonly playerId: string;
  /** The id of this call: when the client sends it again, it withdraws no later listing with the same id. */
  readonly withdrawalId: string;
}
