import type { Telemetry } from '@mortise/redis';
import {
  ArgumentRangeError,
  requireBoolean,
  requireDuration,
  requireFunction,
  requireInteger,
  requireKnown,
  requireObject,
  requireOneOf,
  requireOptions,
  requireSignal,
} from '@mortise/redis';

/** Options of `RecentContacts`. */
export interface RecentContactsOptions {
  /**
   * Maximum of contacts of a user, 1 to 1,000; the one touched longest ago is removed first. With `halfLifeMs` 1 to 128, since
   * a larger set takes five times the memory per contact; the one with the lowest frecency is removed first. Default 100.
   */
  readonly capacity?: number | undefined;
  /**
   * Orders contacts by frecency: how often and how recently they were touched. Each touch counts 1 at first and half after each
   * half-life, in ms, 1 s to 3,650 days. All users of one `prefix` must give the same value. Contacts that were stored without
   * this option are invisible with it, and vice versa. Default: none, the order of the last touch.
   */
  readonly halfLifeMs?: number | undefined;
  /**
   * Returns the part of a contact by which it is found and shown, such as `Jack` for `4711|Jack`. The function is called for
   * each `touch` and `remove`, and must return the same text for the same contact. Default: the contact itself.
   */
  readonly displayOf?: ((contact: string) => string) | undefined;
  /** Lifetime of a user's contacts after the last `touch` or `remove`, ms, 1 s to 3,650 days. Default 90 days. */
  readonly keepMs?: number | undefined;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Counts changes and completions. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options of `RecentContacts.complete`. */
export interface CompleteOptions {
  /** Maximum of contacts to return, 1 to 1,000. Default 10. */
  readonly limit?: number | undefined;
}

export interface AddressBookOptions {
  /**
   * The half-life of scores, ms, 1 min to 3,650 days. If you boost each chosen entry, the order is then by frecency. Scores are
   * 0 or more and exact to 0.07 %; nothing is rewritten as time passes. All users of a book must give the same value. Default:
   * scores keep their values.
   */
  readonly halfLifeMs?: number | undefined;
  /**
   * Derives further names from a display form, such as the pinyin of a Chinese name, the kana of a Japanese one or a nickname.
   * These names count as aliases. `add` calls the function once for each entry. It must be synchronous and return the same
   * names for the same form; all writers of a book need the same function. Its errors pass through, and nothing is written.
   * Default: none.
   */
  readonly keysOf?: ((display: string) => readonly string[]) | undefined;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Counts changes and completions. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

export interface AddEntry<Payload> {
  /** Identifies the entry: 1 to 1,024 bytes. Several entries may have one display form. */
  readonly key: string;
  /** The name that is shown, and found by its words: 1 to 1,024 bytes. Default: the key. */
  readonly display?: string | undefined;
  /** Further names, each found by its own words: up to 16. */
  readonly aliases?: readonly string[] | undefined;
  /** Any JSON value. Payload, display form and aliases have up to 8,192 bytes together. */
  readonly payload?: Payload | undefined;
  /** A finite number; the highest come first. Default: the entry's present score, or 0. */
  readonly score?: number | undefined;
}

/** Options of `boost`. */
export interface BoostOptions {
  /**
   * Makes a repeated call safe: for an hour the same boost with the same id changes nothing. 1 to 1,024 bytes. Default:
   * none.
   */
  readonly id?: string | undefined;
}

/** Options of `complete` and `page` of an address book. */
export interface CompleteBookOptions {
  /** Maximum of entries to return, 1 to 1,000. Default 10. */
  readonly limit?: number | undefined;
  /**
   * `score`: the highest first, equal ones in a stable order. `alphabetical`: by the bytes of the normalized names, each
   * read from the word that matches the first typed word. Default `score`.
   */
  readonly order?: 'score' | 'alphabetical' | undefined;
  /**
   * Adds entries that match after one edit in one typed word of 3 code points or more. They follow all exact matches; those
   * with an edit of the last code point come last, and only for a single typed word. Only with order `score`. The option costs
   * another round trip, and about 1 ms of Redis at a million names. Default false.
   */
  readonly fuzzy?: boolean | undefined;
  /** The `cursor` of the page before. With null, as by default, the first page. */
  readonly cursor?: string | null | undefined;
}

export interface AddManyOptions {
  /** Called after each batch of up to 256 entries, in order. If it throws, the load ends. */
  readonly onProgress?: ((progress: AddManyResult) => void) | undefined;
  /** Ends the load: nothing more is sent, batches in flight are awaited, and the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The entries stored by a bulk load, so far or in total. */
export interface AddManyResult {
  /** Stored entries, new or not. */
  readonly entries: number;
  /** New entries. */
  readonly added: number;
}

/** Limits the time for which one call, O(capacity), blocks the server (about 0.2 ms). */
const MAX_CAPACITY = 1_000;
/** Up to this size Redis stores a sorted set as a plain list, by default. */
const MAX_RANKED_CAPACITY = 128;
const DAY_MS = 86_400_000;

const DEFAULTS = { capacity: 100, keepMs: 90 * DAY_MS, limit: 10 };

type Known = ReadonlySet<string>;

export const RECENT_CONTACTS_OPTIONS: Known = new Set<keyof RecentContactsOptions>([
  'capacity',
  'halfLifeMs',
  'displayOf',
  'keepMs',
  'prefix',
  'telemetry',
]);
export const ADDRESS_BOOK_OPTIONS: Known = new Set<keyof AddressBookOptions>([
  'halfLifeMs',
  'keysOf',
  'prefix',
  'telemetry',
]);
const ENTRY: Known = new Set<keyof AddEntry<unknown>>(['key', 'display', 'aliases', 'payload', 'score']);
const COMPLETE_OPTIONS: Known = new Set<keyof CompleteOptions>(['limit']);
const COMPLETE_BOOK_OPTIONS: Known = new Set<keyof CompleteBookOptions>([
  'limit',
  'order',
  'fuzzy',
  'cursor',
]);
const BOOST_OPTIONS: Known = new Set<keyof BoostOptions>(['id']);
const ADD_MANY_OPTIONS: Known = new Set<keyof AddManyOptions>(['onProgress', 'signal']);

export function resolveRecentContactsOptions(options: RecentContactsOptions): {
  capacity: number;
  keepMs: number;
  halfLifeMs: number | undefined;
  displayOf: ((contact: string) => string) | undefined;
} {
  const { capacity = DEFAULTS.capacity, keepMs = DEFAULTS.keepMs, halfLifeMs, displayOf } = options;
  const range = { min: 1_000, max: 3_650 * DAY_MS };
  return {
    capacity: requireInteger('capacity', capacity, {
      min: 1,
      max: halfLifeMs === undefined ? MAX_CAPACITY : MAX_RANKED_CAPACITY,
    }),
    keepMs: Math.ceil(requireDuration('keepMs', keepMs, range)),
    halfLifeMs: halfLifeMs === undefined ? undefined : requireDuration('halfLifeMs', halfLifeMs, range),
    displayOf: displayOf === undefined ? undefined : requireFunction('displayOf', displayOf),
  };
}

export function resolveAddressBookOptions({ halfLifeMs, keysOf }: AddressBookOptions): {
  halfLifeMs: number;
  keysOf: AddressBookOptions['keysOf'];
} {
  const range = { min: 60_000, max: 3_650 * DAY_MS };
  return {
    halfLifeMs: halfLifeMs === undefined ? 0 : requireDuration('halfLifeMs', halfLifeMs, range),
    keysOf: keysOf === undefined ? undefined : requireFunction('keysOf', keysOf),
  };
}

export function resolveCompleteOptions(options: CompleteOptions): { limit: number } {
  return resolveLimit(requireOptions('complete', options, COMPLETE_OPTIONS));
}

/** @param call The name of the call, for the error. */
export function resolveCompleteBookOptions(
  call: string,
  options: CompleteBookOptions,
): { limit: number; order: 'score' | 'alphabetical'; fuzzy: boolean; cursor: string | undefined } {
  requireOptions(call, options, COMPLETE_BOOK_OPTIONS);
  const { order = 'score', fuzzy = false, cursor } = options;
  requireBoolean('fuzzy', fuzzy);
  requireOneOf('order', order, ['score', 'alphabetical']);
  if (fuzzy && order !== 'score')
    throw new ArgumentRangeError("fuzzy must be false with order 'alphabetical'");
  return { ...resolveLimit(options), order, fuzzy, cursor: cursor ?? undefined };
}

/** Refuses a value that is not an object, and unknown fields. */
export function requireEntry<Payload>(entry: AddEntry<Payload>): AddEntry<Payload> {
  return requireKnown('entry', requireObject('entry', entry), ENTRY);
}

export function resolveBoostOptions(options: BoostOptions): BoostOptions {
  return requireOptions('boost', options, BOOST_OPTIONS);
}

export function resolveAddManyOptions(options: AddManyOptions): AddManyOptions {
  const { onProgress, signal } = requireOptions('addMany', options, ADD_MANY_OPTIONS);
  if (onProgress !== undefined) requireFunction('onProgress', onProgress);
  return { onProgress, signal: requireSignal(signal) };
}

function resolveLimit({ limit = DEFAULTS.limit }: { readonly limit?: number | undefined }): {
  limit: number;
} {
  return { limit: requireInteger('limit', limit, { min: 1, max: MAX_CAPACITY }) };
}
