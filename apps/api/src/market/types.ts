/**
 * Words of the market. A *player* has funds and an inventory of *items*; an item that is offered at a price leaves
 * the inventory and becomes a *listing*; a purchase turns the listing into a *sale*, and its receipt is kept.
 * Money is a whole number of coins; instants are ms since the epoch, on the clock of the Redis server.
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
  /** Nobody buys it before; it is in no list until then. */
  readonly opensAt?: number;
  /** Nobody buys it from then on; the item goes back to the seller. */
  readonly expiresAt?: number;
}

/** What became of a listing whose time had come: `gone` when it was sold or withdrawn, or is another one under its id. */
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

/** Names a listing for good: its id may come to be used again when it is withdrawn or expired. */
export interface ListingRef {
  readonly listingId: string;
  readonly listedAt: number;
}

/** What a mutating call did, and whether an earlier call with the same id had done it already. */
export interface Outcome<T> {
  readonly value: T;
  readonly isRepeated: boolean;
}

/**
 * How a change is made. `script`: one script reads, decides and writes. `lock`: the book's fine-grained lock; the
 * process reads and decides while it holds the listing, and a script writes unless the lock was lost. Same results;
 * `lock` costs four round trips instead of one, and is for decisions that cannot be made in Lua.
 */
export type Strategy = 'script' | 'lock';

export const STRATEGIES = ['script', 'lock'] as const satisfies readonly Strategy[];

/** What a script that changes the market replies: a status, and what belongs to it. */
export type Reply = readonly [status: string, detail?: string, more?: string];

/** A part of a longer list, and where the next part begins; `null` at the end. */
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
