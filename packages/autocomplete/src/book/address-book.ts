/**
 * The names of a group of people, completed best first.
 *
 * Names are members of small sorted sets, the blocks. A block holds a range of the order of bytes, ranked by score, and
 * Redis stores it as a plain list: a name of 12 bytes takes about 30 bytes in all. A directory maps a name to its block. A
 * prefix that covers a whole block has a top set with its best names. A top set has every name that ranks before its last
 * one, so it is exact up to there; deeper answers are merged from the parts of the prefix.
 *
 * Rejected: one sorted set in the order of bytes and one by score take 230 B a name. A sorted set for each prefix takes 550
 * to 630 B. A block as one packed string costs 2 KB of replication for each change of a score.
 */
import { requireClient, requireName, requireOptions, SafeTelemetry } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { AutocompleteKeys } from '../keys.js';
import { CHANGES, COMPLETIONS, SUGGESTIONS } from '../metrics.js';
import type {
  AddEntry,
  AddManyOptions,
  AddManyResult,
  AddressBookOptions,
  BoostOptions,
  CompleteBookOptions,
} from '../options.js';
import { ADDRESS_BOOK_OPTIONS, resolveAddressBookOptions } from '../options.js';
import { Changes } from './change/changes.js';
import type { Page } from './complete/pages.js';
import { Pages } from './complete/pages.js';
import type { StoredBookEntry } from './get/stored-entries.js';
import { StoredEntries } from './get/stored-entries.js';
import type { Suggestion } from './suggestion.js';

/** An address book, in one slot of a Cluster. An object is cheap to create, and stateless: everything is in Redis. */
export class AddressBook<Payload = unknown> {
  readonly #changes: Changes<Payload>;
  readonly #entries: StoredEntries<Payload>;
  readonly #pages: Pages<Payload>;
  readonly #telemetry: SafeTelemetry | undefined;

  /**
   * Sends nothing. A book exists from its first entry to its last.
   *
   * Throws TypeError or RangeError for a name that isn't 1 to 1,024 bytes of text, for unknown options and for values outside their
   * limits.
   */
  constructor(redis: RedisClient, name: string, options: AddressBookOptions = {}) {
    requireClient(redis);
    requireOptions('AddressBook', options, ADDRESS_BOOK_OPTIONS);
    const keys = new AutocompleteKeys(options.prefix).book(requireName('name', name));
    const resolved = resolveAddressBookOptions(options);
    this.#telemetry = SafeTelemetry.of(options.telemetry, { 'mortise.autocomplete.kind': 'book' });
    this.#changes = new Changes(redis, keys, resolved, (count) => this.#telemetry?.count(CHANGES, count));
    this.#entries = new StoredEntries(redis, keys, resolved.halfLifeMs);
    this.#pages = new Pages(redis, keys, resolved.halfLifeMs);
  }

  /**
   * Adds an entry, or replaces the one with the same key. Returns whether the entry is new. Without `score` a replaced entry
   * keeps its score; everything else is replaced. The next completion finds the entry. Changes of one tick share a script call,
   * in the order of their calls; each is atomic. One round trip; O(words² × length), 0.1 ms of Redis for each of the n (n + 1)
   * / 2 forms of n words. Repeating the call is safe, but a repeated `score` undoes boosts since the first call.
   *
   * After a lost reply ioredis sends the call again, and `add` then returns false for an entry that the call itself added.
   *
   * Rejects with `ERR_NO_WORDS`, `ERR_ENTRY_TOO_LARGE`, and with TypeError or RangeError for an invalid entry.
   */
  async add(entry: AddEntry<Payload>): Promise<boolean> {
    return this.#changes.add(entry);
  }

  /**
   * Adds many entries from an iterable, reading and sending at the same time: a million names take no more memory than a
   * thousand. Redis needs 15 to 30 µs for an entry that is only a key, least in the order of names, and 100 to 160 µs for a name
   * of two words. The book is complete for all entries that were sent before an error, a crash or an abort; repeating the
   * load is safe. Entries whose reply was lost don't count as new. Entries with one key keep their order. Other callers may
   * change and read the book during the load.
   *
   * Rejects with the error of the iterable, of `onProgress` or of Redis, and with those of `add`.
   */
  async addMany(
    entries: Iterable<AddEntry<Payload>> | AsyncIterable<AddEntry<Payload>>,
    options: AddManyOptions = {},
  ): Promise<AddManyResult> {
    return this.#changes.addMany(entries, options);
  }

  /**
   * Removes an entry, and returns whether it existed. Costs what `add` does, and shares its script calls. Repeating the call is
   * safe. After a lost reply ioredis sends the call again, and `remove` then returns false.
   */
  async remove(key: string): Promise<boolean> {
    return this.#changes.remove(key);
  }

  /**
   * Adds `by` to the score of an entry. Returns the new score, or `null` if there is no such entry. With `halfLifeMs` a score
   * never falls below 0; without it, a score stays finite. Costs what `add` does, and shares its script calls. A repeated call
   * counts twice, also when ioredis resends it after a lost reply, unless the call has an `id`. An id is stored for an hour in
   * the same step and takes about 150 bytes.
   *
   * Rejects with `ERR_REQUEST_REUSED` for the `id` of another boost, and with RangeError for a number that isn't finite.
   */
  async boost(key: string, by = 1, options: BoostOptions = {}): Promise<number | null> {
    return this.#changes.boost(key, by, options);
  }

  /** Returns an entry by its key, or `null`. One round trip, read-only, O(length). */
  async get(key: string): Promise<StoredBookEntry<Payload> | null> {
    return this.#entries.get(key);
  }

  /** The number of entries. One round trip, O(1). */
  async size(): Promise<number> {
    return this.#entries.size();
  }

  /**
   * Returns the entries whose words begin with the typed words. Each typed word needs a different word, in any order: `jo sm`
   * finds `John Smith` and `Smith, Joan`. All words must belong to one name of an entry, of which the first 6 words count. The
   * entries with the highest scores come first. Equal scores have an order that doesn't depend on the limit. An empty text, or
   * one of spaces and marks only, matches all entries. Only 6 words and 1,024 UTF-16 units of a typed text count, and 64 code
   * points of each word.
   *
   * One round trip, a read-only script, which may run on a replica. Up to 32 completions of one tick with one word and up to 12
   * entries share a call; if it fails, each fails. Three cases need more round trips, one after the other and each a few ms at
   * most. First, one letter of a frequent word was typed, and most names with that word have other second words. Second, most
   * of the best members of the index belong to few entries. Third, hundreds of names are wanted. With `fuzzy` and room left,
   * each 500 members that an edit finds cost one more, up to 8. Only `page` finds members after the 4,000th. These 500 include
   * members that also match exactly, except those that begin with the typed word where the edit is in the last letter.
   *
   * Rejects with `ERR_INVALID_CURSOR` and `ERR_PAGE_TOO_DEEP` for `cursor`, and with TypeError or RangeError for an invalid
   * text or option.
   */
  async complete(text: string, options: CompleteBookOptions = {}): Promise<Suggestion<Payload>[]> {
    const suggestions = await this.#pages.find(text, options);
    this.#count(suggestions.length);
    return suggestions;
  }

  /**
   * Returns a page of `complete`, with the cursor of the next page, or `null` at the end. Added and removed entries move no
   * other entries. An entry whose score changes between two pages may be missed or come twice, but never twice on one page.
   * Pages in the order of scores end at the 10,000th entry. Costs as `complete`. With `fuzzy` a page with a cursor may have
   * fewer entries than `limit`, or none. Its calls then found members that also match exactly, and the next page continues
   * there.
   */
  async page(text: string, options: CompleteBookOptions = {}): Promise<Page<Payload>> {
    const page = await this.#pages.page(text, options);
    this.#count(page.suggestions.length);
    return page;
  }

  #count(suggestions: number): void {
    this.#telemetry?.count(COMPLETIONS, 1);
    this.#telemetry?.count(SUGGESTIONS, suggestions);
  }
}
