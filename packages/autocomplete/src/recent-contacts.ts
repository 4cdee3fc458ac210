/**
 * The contacts that a user dealt with, for completion while the user types: the last first, or those of the highest frecency.
 *
 * One LIST per user, the last touched first. A ZSET by time was rejected: above 64 bytes or 128 members it leaves the
 * compact encoding and takes 2,750 to 5,200 B per 100 contacts where the list takes 1,725. Frecency needs a number beside each contact,
 * so it is a ZSET, kept to 128 members. Filtering happens in Redis: sending 100 contacts to the client costs it 47 µs, filtering them in
 * Lua costs Redis 16.
 */
import { requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { toContact, toEntry } from './contact.js';
import { AutocompleteKeys } from './keys.js';
import { normalize } from './normalize.js';
import { resolveLimit, resolveRecentContactsOptions } from './options.js';
import type { CompleteOptions, RecentContactsOptions } from './options.js';
import { RecentChanges } from './recent-changes.js';
import { recentContactsApply, recentContactsComplete, recentContactsRank } from './scripts.gen.js';
import { CHANGES } from './telemetry/metrics.js';
import { Tally } from './telemetry/tally.js';
import { isTooLong, requireTyped } from './typed-text.js';

/** The contacts of many users, each the last touched first or by frecency, with completion. */
export class RecentContacts {
  readonly #redis: RedisClient;
  readonly #keys: AutocompleteKeys;
  readonly #isRanked: boolean;
  readonly #displayOf: ((contact: string) => string) | undefined;
  readonly #tally: Tally | undefined;
  readonly #changes: RecentChanges;

  /** Sends nothing. Throws TypeError or RangeError for options that are out of range. */
  constructor(redis: RedisClient, options: RecentContactsOptions = {}) {
    this.#redis = requireClient(redis);
    this.#keys = new AutocompleteKeys(options.prefix);
    const { capacity, idleMs, halfLifeMs, displayOf } = resolveRecentContactsOptions(options);
    this.#isRanked = halfLifeMs !== undefined;
    this.#displayOf = displayOf;
    this.#tally = Tally.for(options.telemetry, 'recent');
    this.#changes = new RecentChanges(redis, async ({ keys, ...batch }) => {
      const bounds = { capacity, idleMs, ...batch };
      const reply =
        halfLifeMs === undefined
          ? await recentContactsApply.run(redis, { recents: keys }, bounds)
          : await recentContactsRank.run(redis, { rankeds: keys }, { ...bounds, halfLifeMs, nowMs: '' });
      const found = reply as (number | Error)[];
      this.#tally?.count(CHANGES, found.filter((count) => typeof count === 'number').length);
      return found;
    });
  }

  /**
   * Makes the contact the user's most recent one; the oldest goes when there are more than `capacity`. With `halfLifeMs`, adds 1 to its
   * frecency; a new one takes the place of the one with the lowest. Contacts are told apart byte by byte, so `Jack` and `jack` are
   * two. Changes of one user are made in the order of the calls. One round trip, which those of a tick share, up to 100 in an atomic script;
   * those made while an earlier one of the user is under way wait for its end. On a single server, changes of others share the script. O(capacity). Repeating it is safe; with `halfLifeMs` it counts twice. Rejects with
   * TypeError or RangeError for other than 1 to 1,024 bytes of well-formed text.
   */
  async touch(user: string, contact: string): Promise<void> {
    await this.#changes.submit({ key: this.#key(user), sign: '+', entry: toEntry(contact, this.#displayOf) });
  }

  /** Takes the contact out; returns whether it was there. Costs as `touch`, and travels with it. Repeating it is safe. */
  async remove(user: string, contact: string): Promise<boolean> {
    return this.#changes.submit({
      key: this.#key(user),
      sign: '-',
      entry: toEntry(contact, this.#displayOf),
    });
  }

  /** All contacts of the user, the last touched or the best first. One round trip, read-only. O(capacity). */
  async list(user: string): Promise<string[]> {
    const command = this.#isRanked ? 'zrange' : 'lrange';
    const entries = (await this.#redis.call(command, [this.#key(user), 0, -1])) as string[];
    return entries.map(toContact);
  }

  /**
   * The contacts that begin with the text, the last touched or the best first, in the form in which they were touched. Case,
   * accents and width are ignored, as `normalize` says; an empty text, or one of nothing but spaces and accents, matches all; one of more
   * than 16,384 UTF-16 units matches none, and sends nothing. One round trip, one read-only script that never writes. O(capacity).
   * Rejects with TypeError for a text that is no string, and RangeError for a `limit` other than 1 to 1,000.
   */
  async complete(user: string, text: string, options: CompleteOptions = {}): Promise<string[]> {
    const limit = resolveLimit(options);
    const keys = { contacts: this.#key(user) };
    if (isTooLong(requireTyped(text))) return [];
    const args = { isRanked: this.#isRanked ? 1 : 0, prefix: normalize(text), limit };
    const found = (await recentContactsComplete.run(this.#redis, keys, args)) as string[];
    this.#tally?.completed(found.length);
    return found;
  }

  /** By what a contact is found and shown: what `displayOf` says, or the contact itself. */
  displayOf(contact: string): string {
    return this.#displayOf ? this.#displayOf(contact) : contact;
  }

  #key(user: string): string {
    return this.#isRanked ? this.#keys.ranked(user) : this.#keys.recent(user);
  }
}
