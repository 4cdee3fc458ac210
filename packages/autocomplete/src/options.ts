import { requireDuration, requireInteger } from '@mortise/redis';

/** Bounds of `RecentContacts`. */
export interface RecentContactsOptions {
  /** The most contacts that a user keeps, 1 to 1,000; the ones touched longest ago go first. Default 100. */
  readonly capacity?: number;
  /** A user's list goes away when nothing was touched or removed for so long, in ms. Default 90 days. */
  readonly idleMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** Of one `complete`. */
export interface CompleteOptions {
  /** The most contacts to return, 1 to 1,000. Default 10. */
  readonly limit?: number;
}

export interface AddressBookOptions {
  readonly halfLifeMs?: number;
  readonly prefix?: string;
}

export interface AddEntry<Payload> {
  readonly key: string;
  readonly display?: string;
  readonly aliases?: readonly string[];
  readonly payload?: Payload;
  readonly score?: number;
}

export interface CompleteBookOptions {
  readonly limit?: number;
}

/** A call costs O(capacity); this bounds how long one holds the server (about 0.2 ms). */
const MAX_CAPACITY = 1_000;
const DAY_MS = 86_400_000;

export const DEFAULTS = { capacity: 100, idleMs: 90 * DAY_MS, limit: 10 };

export function resolveRecentContactsOptions(options: RecentContactsOptions): {
  capacity: number;
  idleMs: number;
} {
  return {
    capacity: requireInteger('capacity', options.capacity ?? DEFAULTS.capacity, {
      min: 1,
      max: MAX_CAPACITY,
    }),
    idleMs: Math.ceil(
      requireDuration('idleMs', options.idleMs ?? DEFAULTS.idleMs, { min: 1_000, max: 3_650 * DAY_MS }),
    ),
  };
}

export function resolveLimit(options: CompleteOptions): number {
  return requireInteger('limit', options.limit ?? DEFAULTS.limit, { min: 1, max: MAX_CAPACITY });
}
