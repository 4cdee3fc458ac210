/**
 * Completes the name of somebody who is to be mentioned: whom the user has recently dealt with first, then the members of one address
 * book or several, each person once.
 *
 * All sources are asked at the same time, each for as many as the answer may have, and the recent contacts for all where several of
 * them may be one person: so one round trip is enough, whatever they have in common. Asking the books for what the recent contacts leave open would be less work for Redis and two round trips one after the other.
 */
import type { Telemetry } from '@mortise/redis';
import { ArgumentTypeError, requireDuration, requireName } from '@mortise/redis';
import { NoSourceAnsweredError, SourceTimeoutError } from './errors.js';
import type { TextRange } from './folded-text.js';
import { prefixMatchOf } from './matches.js';
import { normalize } from './normalize.js';
import type { CompleteOptions } from './options.js';
import { MAX_CAPACITY, resolveLimit } from './options.js';
import type { RecentContacts } from './recent-contacts.js';
import { FAILURES } from './telemetry/metrics.js';
import { Tally } from './telemetry/tally.js';
import { requireTyped } from './typed-text.js';

/** What a mention completer asks of an address book: an `AddressBook`, or anything that answers likewise. */
export interface MentionBook<Payload = unknown> {
  complete(text: string, options: MentionOptions): Promise<readonly BookMention<Payload>[]>;
}

/** An entry as a book tells of it. */
export interface BookMention<Payload> {
  readonly key: string;
  readonly display: string;
  readonly score: number;
  readonly payload?: Payload | undefined;
  readonly matches?: readonly TextRange[];
  /** It was found by a typing error. */
  readonly isFuzzy?: boolean | undefined;
}

/** Where a mention comes from: the recent contacts, or the place of the book among `books`. */
export type MentionSource = 'recent' | number;

export interface Mention<Payload = unknown> {
  readonly key: string;
  readonly display: string;
  readonly source: MentionSource;
  /** That of the book, where one has answered with the same key; recent contacts have none. */
  readonly score: number | undefined;
  /** As `score`. */
  readonly payload: Payload | undefined;
  /** The parts of `display` that match what was typed: sorted, disjoint, whole characters. */
  readonly matches: readonly TextRange[];
}

/** A source that gave no answer. */
export interface MentionFailure {
  readonly source: MentionSource;
  readonly error: Error;
}

export interface MentionResult<Payload = unknown> {
  readonly mentions: readonly Mention<Payload>[];
  /** Empty if all sources have answered. */
  readonly failures: readonly MentionFailure[];
}

export interface MentionCompleterOptions {
  /** Makes the key of an entry of a contact: of `4711|Jack`, `4711`. Default: the contact itself. */
  readonly keyOf?: (contact: string) => string;
  /** How long the others wait for a source, 10 ms to 60 s. Default 1 s. */
  readonly timeoutMs?: number;
  /** What is told of completions and of sources that fail. Default: nothing. */
  readonly telemetry?: Telemetry;
}

/** Of one `complete`. */
export interface MentionOptions extends CompleteOptions {
  /** Whether books may fill up with what differs from the text by one typing error. Default: as the book has it. */
  readonly fuzzy?: boolean;
}

type Answer<Found> = { readonly found: Found } | { readonly error: Error };

/** Recent contacts and address books, completed together. Cheap to make, and keeps nothing: one for each request will do. */
export class MentionCompleter<Payload = unknown> {
  readonly #recent: RecentContacts;
  readonly #books: readonly MentionBook<Payload>[];
  readonly #keyOf: (contact: string) => string;
  /** Whether several contacts may be one person, so that more have to be asked for than are told of. */
  readonly #hasKeys: boolean;
  readonly #timeoutMs: number;
  readonly #tally: Tally | undefined;

  /** The books in the order in which their members come. Sends nothing. Throws TypeError or RangeError for what cannot be used. */
  constructor(
    recent: RecentContacts,
    books: readonly MentionBook<Payload>[],
    options: MentionCompleterOptions = {},
  ) {
    const { keyOf = (contact) => contact, timeoutMs = 1_000 } = options;
    if (typeof recent?.complete !== 'function')
      throw new ArgumentTypeError('recent must be a RecentContacts');
    if (!Array.isArray(books) || books.some((book) => typeof book?.complete !== 'function')) {
      throw new ArgumentTypeError('books must be an array of address books');
    }
    if (typeof keyOf !== 'function')
      throw new ArgumentTypeError(`keyOf must be a function, got ${typeof keyOf}`);
    this.#recent = recent;
    this.#books = [...books];
    this.#keyOf = keyOf;
    this.#hasKeys = options.keyOf !== undefined;
    this.#tally = Tally.for(options.telemetry, 'mention');
    this.#timeoutMs = requireDuration('timeoutMs', timeoutMs, { min: 10, max: 60_000 });
  }

  /**
   * The recent contacts of the user that begin with the text, in their order; then what the books found, the first book first, and what
   * was found by a typing error behind all that was not. Who has been told of is not told again: a contact that a book knows as
   * well has its place among the recent ones, and display form, score and payload of the book.
   *
   * A source that fails, or has no answer after `timeoutMs`, is told in `failures`, and the others' answers are given: a user who types is better
   * served by some names than by none. Rejects with `ERR_NO_SOURCE_ANSWERED` if all have failed, and with TypeError or
   * RangeError for a user, text or limit that cannot be used.
   *
   * One round trip: a read-only script for the user and for each book, at the same time; each has its own slot. Not atomic.
   */
  async complete(user: string, text: string, options: MentionOptions = {}): Promise<MentionResult<Payload>> {
    const limit = resolveLimit(options);
    requireName('user', user);
    requireTyped(text);
    const { fuzzy } = options;
    if (fuzzy !== undefined && typeof fuzzy !== 'boolean')
      throw new ArgumentTypeError(`fuzzy must be a boolean, got ${typeof fuzzy}`);
    const asked = { ...options, limit };
    const contactLimit = this.#hasKeys ? MAX_CAPACITY : limit;
    const deadline = new Deadline(this.#timeoutMs);
    const [contacts, ...answers] = await Promise.all([
      deadline.answerOf('recent', () => this.#recent.complete(user, text, { limit: contactLimit })),
      ...this.#books.map((book, index) => deadline.answerOf(index, () => book.complete(text, asked))),
    ] as const);
    deadline.end();

    const failures: MentionFailure[] = [];
    const add = (answer: Answer<unknown>, source: MentionSource): void => {
      if (!('error' in answer)) return;
      failures.push({ source, error: answer.error });
      const kind = source === 'recent' ? 'recent' : 'book';
      this.#tally?.count(FAILURES, 1, { 'mortise.autocomplete.source': kind });
    };
    add(contacts, 'recent');
    for (const [index, answer] of answers.entries()) add(answer, index);
    if (failures.length === 1 + answers.length) throw new NoSourceAnsweredError(failures);

    const found = 'found' in contacts ? contacts.found : [];
    const books = answers.map((answer) => ('found' in answer ? answer.found : []));
    const mentions = this.#merge(text, found, books).slice(0, limit);
    this.#tally?.completed(mentions.length);
    return { mentions, failures };
  }

  #merge(
    text: string,
    contacts: readonly string[],
    books: readonly (readonly BookMention<Payload>[])[],
  ): Mention<Payload>[] {
    const form = normalize(text);
    const mentions = new Map<string, Mention<Payload>>();
    for (const contact of contacts) {
      const [key, display] = [this.#keyOf(contact), this.#recent.displayOf(contact)];
      if (mentions.has(key)) continue;
      const matches = prefixMatchOf(display, form);
      mentions.set(key, { key, display, source: 'recent', score: undefined, payload: undefined, matches });
    }
    const entries = books.flatMap((book, source) => book.map((entry) => ({ entry, source })));
    const isFuzzy = ({ entry }: (typeof entries)[number]): boolean => entry.isFuzzy === true;
    const ordered = [...entries.filter((one) => !isFuzzy(one)), ...entries.filter(isFuzzy)];
    for (const { entry, source } of ordered) {
      const { key, display, score, payload, matches = [] } = entry;
      const known = mentions.get(key);
      if (known && (known.source !== 'recent' || known.score !== undefined)) continue;
      mentions.set(key, { key, display, source: known?.source ?? source, score, payload, matches });
    }
    return [...mentions.values()];
  }
}

/** Waits for several sources, no longer than a time. */
class Deadline {
  readonly #timeoutMs: number;
  readonly #passed: Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#passed = new Promise((resolve) => {
      this.#timer = setTimeout(resolve, timeoutMs);
    });
  }

  /** Never rejects, and leaves nothing unhandled that comes too late. */
  answerOf<Found>(source: MentionSource, ask: () => Promise<Found>): Promise<Answer<Found>> {
    const answer = (async () => ({ found: await ask() }))().catch((error: unknown) => ({
      error: error instanceof Error ? error : new Error(String(error)),
    }));
    const late = this.#passed.then(() => ({ error: new SourceTimeoutError(source, this.#timeoutMs) }));
    return Promise.race([answer, late]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
