import type { Telemetry } from '@mortise/redis';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireOneOf,
} from '@mortise/redis';

/** Bounds of `RecentContacts`. */
export interface RecentContactsOptions {
  /**
   * The most contacts that a user keeps, 1 to 1,000; the ones touched longest ago go first. With `halfLifeMs` 1 to 128, and those of
   * the lowest frecency go first: a larger set would take Redis five times the memory for each. Default 100.
   */
  readonly capacity?: number;
  /**
   * Orders by frecency, how often and how lately a contact was touched, instead of by the last touch alone: each touch counts 1 at
   * first, and half after so long, in ms, 1 s to 3,650 days. All users of one `prefix` have to have the same. Contacts kept without
   * it are not seen with it, nor the other way round. Default: none.
   */
  readonly halfLifeMs?: number;
  /**
   * The part of a contact by which it is found and shown, where it is more than a name: of `4711|Jack`, `Jack`. Called for each `touch`
   * and `remove`; has to give the same text for the same contact. Default: the contact itself.
   */
  readonly displayOf?: (contact: string) => string;
  /** A user's list goes away when nothing was touched or removed for so long, in ms. Default 90 days. */
  readonly idleMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** What is told of changes and completions. Default: nothing. */
  readonly telemetry?: Telemetry;
}

/** Of one `complete`. */
export interface CompleteOptions {
  /** The most contacts to return, 1 to 1,000. Default 10. */
  readonly limit?: number;
}

export interface AddressBookOptions {
  /**
   * Scores halve in so long, in ms, 1 min to 3,650 days: boosting an entry each time it is chosen orders by frecency. Scores are then
   * 0 or more, exact to 0.07 %, and nothing is rewritten as time goes by. All who open a book have to give the same. Default: scores
   * stay as they are.
   */
  readonly halfLifeMs?: number;
  /**
   * Further names by which an entry is found, made of its display form by whoever adds it: the pinyin of a Chinese name, the kana of a
   * Japanese one, a nickname. They count as aliases, each with words of its own. Called once for each `add` and each entry of
   * `addMany`; must be synchronous, and give the same names for the same form. All writers of a book have to have the same. What it
   * throws passes through, and nothing is written. Default: none.
   */
  readonly keysOf?: (display: string) => readonly string[];
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** What is told of changes and completions. Default: nothing. */
  readonly telemetry?: Telemetry;
}

export interface AddEntry<Payload> {
  /** What the entry is told apart by: 1 to 1,024 bytes. Several may have one display form. */
  readonly key: string;
  /** What is shown, and found by its words: 1 to 1,024 bytes. Default: the key. */
  readonly display?: string;
  /** Further names, each found by its own words: up to 16. */
  readonly aliases?: readonly string[];
  /** Anything that JSON can hold; with display form and aliases up to 8,192 bytes. */
  readonly payload?: Payload;
  /** A finite number; the highest come first. Default: that of the entry as it was, or 0. */
  readonly score?: number;
}

/** Of one `boost`. */
export interface BoostOptions {
  /** Told apart by it for an hour: the same boost again changes nothing, and returns what the first one did. 1 to 1,024 bytes. Default: none. */
  readonly id?: string;
}

/** Of one `complete` or `page` of an address book. */
export interface CompleteBookOptions {
  /** The most entries to return, 1 to 1,000. Default 10. */
  readonly limit?: number;
  /**
   * `score`: the highest first, equal ones in an order that stays; `alphabetical`: by the bytes of the normalized names, each beginning with
   * the word that the first typed one begins. Default `score`.
   */
  readonly order?: 'score' | 'alphabetical';
  /**
   * Fills up with entries that match after one edit in one typed word of 3 code points or more, behind all that match without; those
   * with an edit of the last code point come behind these, and only where one word was typed. Only with order `score`. Costs another
   * round trip, and Redis about 1 ms at a million names. Default false.
   */
  readonly fuzzy?: boolean;
  /** The cursor that a page ended with: the next entries. Default: from the beginning. */
  readonly after?: string;
}

export interface AddManyOptions {
  /** Called after each batch of up to 256 entries, in their order. What it throws ends the load. */
  readonly onProgress?: (progress: AddManyResult) => void;
  /** Ends the load: nothing more is sent, what was sent is awaited, and its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** What a bulk load has stored so far, or in the end. */
export interface AddManyResult {
  /** Entries that were stored, new or not. */
  readonly entries: number;
  /** Those that were not there before. */
  readonly added: number;
}

/** A call costs O(capacity); this bounds how long one holds the server (about 0.2 ms). */
export const MAX_CAPACITY = 1_000;
/** A sorted set stays a plain list in Redis' memory up to here, by the server's default. */
const MAX_RANKED_CAPACITY = 128;
const DAY_MS = 86_400_000;

export const DEFAULTS = { capacity: 100, idleMs: 90 * DAY_MS, limit: 10 };

export function resolveRecentContactsOptions(options: RecentContactsOptions): {
  capacity: number;
  idleMs: number;
  halfLifeMs: number | undefined;
  displayOf: ((contact: string) => string) | undefined;
} {
  const { capacity = DEFAULTS.capacity, idleMs = DEFAULTS.idleMs, halfLifeMs, displayOf } = options;
  const most = { min: 1_000, max: 3_650 * DAY_MS };
  if (displayOf !== undefined && typeof displayOf !== 'function') {
    throw new ArgumentTypeError(
      `displayOf must be a function, got ${displayOf === null ? 'null' : typeof displayOf}`,
    );
  }
  return {
    capacity: requireInteger('capacity', capacity, {
      min: 1,
      max: halfLifeMs === undefined ? MAX_CAPACITY : MAX_RANKED_CAPACITY,
    }),
    idleMs: Math.ceil(requireDuration('idleMs', idleMs, most)),
    halfLifeMs: halfLifeMs === undefined ? undefined : requireDuration('halfLifeMs', halfLifeMs, most),
    displayOf,
  };
}

export function resolveLimit(options: CompleteOptions): number {
  return requireInteger('limit', options.limit ?? DEFAULTS.limit, { min: 1, max: MAX_CAPACITY });
}

export function resolveAddressBookOptions(options: AddressBookOptions): { halfLifeMs: number } {
  const { halfLifeMs } = options;
  const range = { min: 60_000, max: 3_650 * DAY_MS };
  return { halfLifeMs: halfLifeMs === undefined ? 0 : requireDuration('halfLifeMs', halfLifeMs, range) };
}

export function resolveCompleteBookOptions(options: CompleteBookOptions): {
  limit: number;
  order: 'score' | 'alphabetical';
  fuzzy: boolean;
} {
  const { order = 'score', fuzzy = false } = options;
  if (typeof fuzzy !== 'boolean') throw new ArgumentTypeError(`fuzzy must be a boolean, got ${typeof fuzzy}`);
  requireOneOf('order', order, ['score', 'alphabetical']);
  if (fuzzy && order !== 'score')
    throw new ArgumentRangeError("fuzzy must be false with order 'alphabetical'");
  return { limit: resolveLimit(options), order, fuzzy };
}
