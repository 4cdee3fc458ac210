/**
 * The names of a group of people, completed best first.
 *
 * Names are members of small sorted sets, the blocks, each a range of the order of bytes and ranked by score: so a block is a plain
 * list in Redis' memory, and a name of 12 bytes takes about 30 with all there is. A directory tells which block a name is in. A
 * prefix of so many names that it covers a block has a top set, with the best of them; whatever ranks before the last one there is
 * in it, so it is exact as far as it goes, and what goes further is merged from its parts.
 *
 * Rejected: one sorted set in the order of bytes and one by score (230 B a name), a sorted set for each prefix (550 to 630 B), and
 * a block as one packed string (2 KB of replication for each change of a score).
 */
import { ArgumentRangeError, ArgumentTypeError, Coalescer, requireClient, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { BookKeys } from '../keys.js';
import { AutocompleteKeys } from '../keys.js';
import { RequestReusedError } from '../errors.js';
import { aliasesOf, requireKeysOf } from '../keys-of.js';
import type {
  AddEntry,
  AddManyOptions,
  AddManyResult,
  AddressBookOptions,
  BoostOptions,
  CompleteBookOptions,
} from '../options.js';
import { resolveAddressBookOptions } from '../options.js';
import { bookApply, bookGet } from '../scripts.gen.js';
import { CHANGES } from '../telemetry/metrics.js';
import { Tally } from '../telemetry/tally.js';
import { addAll } from './add-all.js';
import type { BookEntry } from './entry.js';
import { idOf, membersOf, readEntry, storeEntry } from './entry.js';
import type { Page } from './pages.js';
import { Pages } from './pages.js';
import { scoreOf } from './score.js';
import { whileSlotMoves } from './slot-moves.js';
import type { Suggestion } from './suggestion.js';

/** Changes in one script call, and the members that they write: they hold the server for about 20 ms. */
const MAX_BATCH = 64;
const MAX_BATCH_MEMBERS = 256;

type Change = readonly (string | number)[];

/** An entry as a book keeps it. */
export interface StoredBookEntry<Payload> extends BookEntry<Payload> {
  readonly score: number;
}

/** One book: one slot of a Cluster. Cheap to make, and keeps nothing: all is in Redis. */
export class AddressBook<Payload = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: BookKeys;
  readonly #options: AddressBookOptions;
  readonly #halfLifeMs: number;
  readonly #changes: Coalescer<null, Change, string | number>;
  readonly #pages: Pages<Payload>;
  readonly #tally: Tally | undefined;

  /**
   * Sends nothing. A book is there as soon as it has an entry, and goes with its last one.
   *
   * Throws TypeError or RangeError for a name that is not 1 to 1,024 bytes of text, and for options that are out of range.
   */
  constructor(redis: RedisClient, name: string, options: AddressBookOptions = {}) {
    this.#redis = requireClient(redis);
    this.#keys = new AutocompleteKeys(options.prefix).book(requireName('name', name));
    requireKeysOf(options.keysOf);
    this.#options = options;
    this.#halfLifeMs = resolveAddressBookOptions(options).halfLifeMs;
    this.#pages = new Pages(redis, this.#keys, this.#halfLifeMs);
    this.#tally = Tally.for(options.telemetry, 'book');
    this.#changes = new Coalescer(
      async (_, changes) => {
        const replies = await whileSlotMoves(() =>
          bookApply.run(redis, this.#keys, { halfLifeMs: this.#halfLifeMs, changes: changes.flat() }),
        );
        this.#tally?.count(CHANGES, changes.length);
        return replies as (string | number)[];
      },
      {
        maxBatch: MAX_BATCH,
        maxBytes: MAX_BATCH_MEMBERS,
        bytesOf: (change) => Math.max(1, change.length - 6),
      },
    );
  }

  /**
   * Puts an entry into the book, or in the place of the one with its key; returns whether it is new. Without `score` an entry keeps its
   * own; all else is replaced. Completed at once. Changes made in one tick travel together, in the order of the calls; each
   * is atomic. One round trip; O(words² × length), 0.1 ms of Redis for each of the n (n + 1) / 2 forms of n words. Repeating it is safe.
   *
   * Rejects with `ERR_NO_WORDS`, `ERR_ENTRY_TOO_LARGE`, and with TypeError or RangeError for what is no entry.
   */
  async add(entry: AddEntry<Payload>): Promise<boolean> {
    return (await this.#changes.submit(null, this.#addition(entry))) === 0;
  }

  /**
   * As `add` for each of many, read from an iterable as they are sent: memory stays the same for a million names. Redis works 40 µs
   * for a handle, 100 to 160 for a name of two words. What was sent before an error, a crash or the end by `signal` is in the book, complete; repeating the load is safe.
   * Entries of one key come in their order. Others may change and read the book meanwhile.
   *
   * Rejects with what the iterable, `onProgress` or Redis threw, or as `add`; entries sent before were stored or were not.
   */
  async addMany(
    entries: Iterable<AddEntry<Payload>> | AsyncIterable<AddEntry<Payload>>,
    options: AddManyOptions = {},
  ): Promise<AddManyResult> {
    return addAll(entries, options, async (batch) => {
      const changes = batch.map((entry) => this.#addition(entry));
      return this.#changes.submitAll(null, changes);
    });
  }

  /** Takes an entry out; returns whether it was there. Costs as `add`, and travels with it. Repeating it is safe. */
  async remove(key: string): Promise<boolean> {
    const known = membersOf(requireName('key', key));
    return (await this.#changes.submit(null, ['remove', idOf(key), '', '', known.length, ...known])) === 1;
  }

  /**
   * Adds to the score of an entry, or takes from it, and returns the new one, or `null` if there is no such entry. With `halfLifeMs` none
   * falls below 0; without, none leaves the range of finite numbers. Costs as `add`, and travels with it. Repeating it counts twice,
   * unless it has an `id`, which is kept for an hour in the same step, and about 150 bytes.
   *
   * Rejects with `ERR_REQUEST_REUSED` for an `id` that another boost has had, and with RangeError for a number that isn't finite.
   */
  async boost(key: string, by = 1, { id }: BoostOptions = {}): Promise<number | null> {
    const known = membersOf(requireName('key', key));
    const request = id === undefined ? '' : idOf(requireName('id', id));
    const change: Change = ['boost', idOf(key), requireFinite('by', by), request, known.length, ...known];
    const score = await this.#changes.submit(null, change);
    if (score === '!') throw new RequestReusedError(id!);
    return score === '' ? null : Number(score);
  }

  /** An entry by its key, or `null`. One round trip, read-only, O(length). */
  async get(key: string): Promise<StoredBookEntry<Payload> | null> {
    const args = { halfLifeMs: this.#halfLifeMs, id: idOf(requireName('key', key)), members: membersOf(key) };
    const reply = await whileSlotMoves(() => bookGet.run(this.#redis, this.#keys, args));
    if (reply === null) return null;
    const [card, rank, halfLives] = reply as [string, string, string];
    const { display, aliases, payload } = readEntry(key, card);
    const score = scoreOf(rank, this.#halfLifeMs, halfLives);
    return { key, display, aliases, payload: payload as Payload | undefined, score };
  }

  /**
   * The entries whose words the typed words begin: each typed word takes a word of its own, in any order, so `jo sm` finds `John Smith`
   * and `Smith, Joan`. All words of an entry are those of one of its names, of which the first 6 count. The best come first, exactly;
   * equal scores have an order that does not depend on the limit. An empty text, or one of spaces and marks only, has all entries.
   *
   * What is typed counts up to its sixth word and 1,024th UTF-16 unit, and of each word, 64 code points.
   *
   * One round trip, a read-only script, which may run on a replica. Completions of one word and up to 12 entries that are asked for in one tick
   * travel together, up to 32 of them: what fails then fails for each. More round trips, one after the other and each bounded at a few
   * ms, where one letter of a frequent word is typed and most names with it have other second words, where most of the best members with
   * what is typed are of few entries, or where hundreds of names are asked for. With `fuzzy` and fewer than `limit` found, one more for each
   * 500 members of the index that an edit finds, up to 8 of them: of more, what is behind the 4,000th is found by `page` alone. Members
   * that fit without an edit as well count too, but for those with what was typed at their beginning where the last letter is another one.
   *
   * Rejects with `ERR_INVALID_CURSOR` and `ERR_PAGE_TOO_DEEP` for `after`, and with TypeError or RangeError for a text or options
   * that cannot be used.
   */
  async complete(text: string, options: CompleteBookOptions = {}): Promise<Suggestion<Payload>[]> {
    const suggestions = await this.#pages.find(text, options);
    this.#tally?.completed(suggestions.length);
    return suggestions;
  }

  /**
   * As `complete`, with the cursor of the next page, or `null` if there is none. What is added or removed between two pages moves no others;
   * an entry whose score changes may be missed or told again, but never twice on one page. In the order of scores, pages go as far as the
   * 10,000th entry. Costs as `complete`. With `fuzzy` a page may have fewer entries than `limit`, or none, and a cursor: its round trips were spent
   * on what fits without an edit as well, and the next page goes on there.
   */
  async page(text: string, options: CompleteBookOptions = {}): Promise<Page<Payload>> {
    const page = await this.#pages.page(text, options);
    this.#tally?.completed(page.suggestions.length);
    return page;
  }

  /** How many entries there are. One round trip, O(1). */
  async size(): Promise<number> {
    return Number((await this.#redis.call('hget', [this.#keys.meta, 'size'])) ?? 0);
  }

  #addition(entry: AddEntry<Payload>): Change {
    const { key, display = key, payload, score } = entry;
    requireName('key', key);
    requireName('display', display);
    if (score !== undefined) requireFinite('score', score);
    if (score !== undefined && score < 0 && this.#halfLifeMs > 0) {
      throw new ArgumentRangeError(`score must be 0 or more with halfLifeMs, got ${score}`);
    }
    const aliases = aliasesOf(entry, this.#options);
    const { id, members, card } = storeEntry({ key, display, aliases, payload });
    const known = membersOf(key);
    return ['add', id, score ?? '', card, known.length, ...known, members.length, ...members];
  }
}

function requireFinite(option: string, value: unknown): number {
  if (typeof value !== 'number')
    throw new ArgumentTypeError(`${option} must be a number, got ${typeof value}`);
  if (!Number.isFinite(value))
    throw new ArgumentRangeError(`${option} must be a finite number, got ${value}`);
  return value;
}
