/**
 * The recent contacts of a user, for completion while typing: last touched first, or by frecency.
 *
 * One LIST per user: the last touched entries, then one text with all others (`recent-contacts.body.part.lua`). Rejected: an
 * element for each, since a script takes 14 µs to receive 100 of them. One text alone, since a touch would write all of it. A
 * ZSET by time: above 64 bytes or 128 members it leaves the compact encoding and takes 2,750 to 5,200 B per 100 contacts;
 * the list takes 1,700. Frecency needs a number for each contact, so it is a ZSET of at most 128 members. A script filters:
 * sending 100 contacts costs the client 47 µs.
 */
import {
  callRedisBuffer,
  ignorable,
  requireArray,
  requireClient,
  requireOptions,
  SafeTelemetry,
} from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { AutocompleteKeys } from '../keys.js';
import { CHANGES, COMPLETIONS, SUGGESTIONS } from '../metrics.js';
import { RECENT_CONTACTS_OPTIONS, resolveCompleteOptions, resolveRecentContactsOptions } from '../options.js';
import type { CompleteOptions, RecentContactsOptions } from '../options.js';
import { recentContactsApply, recentContactsComplete, recentContactsRank } from '../scripts.gen.js';
import { normalize } from '../text/normalize.js';
import { isTooLong, requireTyped } from '../text/typed-text.js';
import { ContactChanges } from './contact-changes.js';
import { ContactCompletions } from './contact-completions.js';
import { toContact, toEntry } from './contact.js';
import { entriesIn } from './stored-contacts.js';

/** The highest capacity. */
const MAX_TOUCHED = 1_000;

/** The recent contacts of all users, with completion. */
export class RecentContacts {
  readonly #keys: AutocompleteKeys;
  readonly #redis: RedisClient;
  readonly #capacity: number;
  readonly #isRanked: boolean;
  readonly #displayOf: ((contact: string) => string) | undefined;
  readonly #telemetry: SafeTelemetry | undefined;
  readonly #changes: ContactChanges;
  readonly #completions: ContactCompletions;

  /** Sends nothing. Throws TypeError or RangeError for unknown options and for values outside their limits. */
  constructor(redis: RedisClient, options: RecentContactsOptions = {}) {
    this.#redis = requireClient(redis);
    requireOptions('RecentContacts', options, RECENT_CONTACTS_OPTIONS);
    this.#keys = new AutocompleteKeys(options.prefix);
    const { capacity, keepMs, halfLifeMs, displayOf } = resolveRecentContactsOptions(options);
    this.#capacity = capacity;
    this.#isRanked = halfLifeMs !== undefined;
    this.#displayOf = displayOf;
    this.#telemetry = SafeTelemetry.of(options.telemetry, { 'mortise.autocomplete.kind': 'recent' });
    this.#changes = new ContactChanges(redis, async ({ keys, ...batch }) => {
      const bounds = { capacity, keepMs, ...batch };
      const reply =
        halfLifeMs === undefined
          ? await recentContactsApply.run(redis, { recents: keys }, bounds)
          : await recentContactsRank.run(redis, { rankeds: keys }, { ...bounds, halfLifeMs, nowMs: '' });
      const found = reply as (number | Error)[];
      this.#telemetry?.count(CHANGES, found.filter((count) => typeof count === 'number').length);
      return found;
    });
    this.#completions = new ContactCompletions(redis, async (all) => {
      const queries: (string | number)[] = [];
      for (const { prefix, limit } of all) queries.push(prefix, limit);
      const keys = { contacts: all.map(({ key }) => key) };
      const args = { isRanked: this.#isRanked ? 1 : 0, capacity, queries };
      const reply = await recentContactsComplete.run(redis, keys, args);
      return reply as (string[] | Error)[];
    });
  }

  /**
   * Makes the contact the user's most recent one. Above `capacity` the oldest is removed. With `halfLifeMs` the call adds 1 to
   * the contact's frecency instead, and a new contact replaces the one with the lowest frecency. Contacts are compared byte by
   * byte: `Jack` and `jack` differ.
   *
   * Changes of one user are applied in the order of the calls. One round trip, shared by the changes of a tick, up to 100 in an
   * atomic script. Changes during an earlier call of the same user wait for its end. On a single server the changes of several
   * users share the script. O(capacity). Repeating the call is safe. With `halfLifeMs`, however, a repeated call counts twice,
   * also when ioredis resends it after a lost reply. Rejects with TypeError or RangeError for a user or contact that isn't 1 to
   * 1,024 bytes of well-formed text. An unhandled rejection does not end the process.
   */
  touch(user: string, contact: string): Promise<void> {
    return ignorable(this.#change('+', user, contact).then(() => undefined));
  }

  /**
   * Calls `touch` for up to 1,000 contacts, in their order: the last one becomes the most recent. All contacts are checked
   * before the first is sent. Each 100 are one atomic script. Repeating the call is as safe as for `touch`.
   */
  touchMany(user: string, contacts: readonly string[]): Promise<void> {
    return ignorable(this.#touchMany(user, contacts));
  }

  /**
   * Removes the contact, and returns whether it existed. Costs what `touch` does, and shares its script calls. Repeating the
   * call is safe. After a lost reply ioredis sends the call again, and `remove` then returns false.
   */
  async remove(user: string, contact: string): Promise<boolean> {
    return this.#change('-', user, contact);
  }

  /** Returns all contacts of the user, last touched or best first. One round trip, read-only. O(capacity). */
  async list(user: string): Promise<string[]> {
    const command = this.#isRanked ? 'zrange' : 'lrange';
    const elements = (await callRedisBuffer(this.#redis, command, [this.#key(user), 0, -1])) as Buffer[];
    return entriesIn(elements, this.#capacity).map(toContact);
  }

  /**
   * Returns the contacts that begin with the text, last touched or best first, in their original spelling. Case, accents and
   * width don't matter (see `normalize`). An empty text, or one of spaces and accents only, matches all. A text of more than
   * 16,384 UTF-16 units matches none, and nothing is sent. One round trip, a read-only script. Up to 16 completions of one tick
   * share it, on a Cluster only those of one user. O(capacity). Rejects with TypeError for a text that is not a string, and
   * with RangeError for a `limit` other than 1 to 1,000.
   */
  async complete(user: string, text: string, options: CompleteOptions = {}): Promise<string[]> {
    const { limit } = resolveCompleteOptions(options);
    const key = this.#key(user);
    if (isTooLong(requireTyped(text))) return [];
    const found = await this.#completions.find({ key, prefix: normalize(text), limit });
    this.#telemetry?.count(COMPLETIONS, 1);
    this.#telemetry?.count(SUGGESTIONS, found.length);
    return found;
  }

  /** The part of a contact by which it is found and shown: the result of the option `displayOf`, or the contact itself. */
  displayOf(contact: string): string {
    return this.#displayOf ? this.#displayOf(contact) : contact;
  }

  async #touchMany(user: string, contacts: readonly string[]): Promise<void> {
    const key = this.#key(user);
    const entries = requireArray('contacts', contacts, { max: MAX_TOUCHED }).map((contact) =>
      toEntry(contact, this.#displayOf),
    );
    await Promise.all(entries.map((entry) => this.#changes.submit({ key, sign: '+', entry })));
  }

  async #change(sign: '+' | '-', user: string, contact: string): Promise<boolean> {
    return this.#changes.submit({ key: this.#key(user), sign, entry: toEntry(contact, this.#displayOf) });
  }

  #key(user: string): string {
    return this.#isRanked ? this.#keys.ranked(user) : this.#keys.recent(user);
  }
}
