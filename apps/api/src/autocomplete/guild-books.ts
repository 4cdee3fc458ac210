/**
 * The address books of guilds, each for its members. The names of a book are the members of its guild, so no second list
 * can contradict it. Every member may read the book, and add, change and remove names.
 *
 * Only a member can add names. An empty guild has no members: the first player who adds themselves creates it.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { AddEntry, AddressBook } from '@mortise/autocomplete';
import { Mutex } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';
import { TenantBooks } from './tenant-autocomplete.js';

/** The lease of the lock under which a guild is created. A process that dies meanwhile delays the next creator by it. */
const LEASE_MS = 2_000;
const WAIT_MS = 500;

/** Names per script call, which takes about 10 ms. */
const PART = 128;

export interface Added {
  readonly added: number;
  readonly changed: number;
}

@Injectable()
export class GuildBooks {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #maxNames: number;

  constructor(
    private readonly books: TenantBooks,
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) config: Config,
  ) {
    this.#redis = redis;
    this.#prefix = config.MORTISE_PREFIX;
    this.#maxNames = config.BOOK_MAX_NAMES;
  }

  /**
   * Calls `act` with the book for a member. Throws the problem `not-in-guild` for anybody else. One round trip, then that
   * of `act`: a member who is removed in between still succeeds.
   */
  async write<T>(guild: string, by: string, act: (book: AddressBook) => Promise<T>): Promise<T> {
    const book = this.books.current.book(guild);
    await requireMember(book, guild, by);
    return act(book);
  }

  /** As `write`, for calls that change nothing: they run while the member is looked up. */
  async read<T>(guild: string, by: string, act: (book: AddressBook) => Promise<T>): Promise<T> {
    const book = this.books.current.book(guild);
    const [isMember, outcome] = await Promise.allSettled([requireMember(book, guild, by), act(book)]);
    for (const each of [isMember, outcome]) if (each.status === 'rejected') throw each.reason;
    return (outcome as PromiseFulfilledResult<T>).value;
  }

  /**
   * Adds or changes names. Repeating it is safe. Throws the problems `not-in-guild`, `too-many-names` and, for a creator,
   * `lock-timeout`. Two round trips, one of them for the names; creating a guild takes five.
   */
  async add(guild: string, by: string, names: readonly AddEntry<unknown>[]): Promise<Added> {
    const book = this.books.current.book(guild);
    const [member, size] = await Promise.all([book.get(by), book.size()]);
    const own = names.find(({ key }) => key === by);
    if (member === null && size === 0 && own !== undefined) return this.#found(guild, own, names);
    if (member === null) throw notInGuild(guild, by);
    await this.#requireRoom(book, guild, size, names);
    return addTo(book, names);
  }

  /** One creator at a time, added before all other names: if the process dies, no guild has names without a member. */
  async #found(guild: string, own: AddEntry<unknown>, names: readonly AddEntry<unknown>[]): Promise<Added> {
    const book = this.books.current.book(guild);
    const mutex = new Mutex(this.#redis, `address-book:${guild}`, {
      prefix: prefixOf(this.#prefix, currentTenant()),
      leaseMs: LEASE_MS,
      renew: false,
    });
    const first = await mutex.using(
      async () => {
        const [member, size] = await Promise.all([book.get(own.key), book.size()]);
        if (member === null && size > 0) throw notInGuild(guild, own.key);
        await this.#requireRoom(book, guild, size, names);
        return addTo(book, [own]);
      },
      { waitMs: WAIT_MS },
    );
    const rest = await addTo(
      book,
      names.filter((name) => name !== own),
    );
    return { added: first.added + rest.added, changed: first.changed + rest.changed };
  }

  /**
   * Known names need no room. Names that others add at the same time are not counted, so a book may exceed the limit a
   * little.
   */
  async #requireRoom(
    book: AddressBook,
    guild: string,
    size: number,
    names: readonly AddEntry<unknown>[],
  ): Promise<void> {
    if (size + names.length <= this.#maxNames) return;
    const known = await Promise.all(names.map(({ key }) => book.get(key)));
    const added = known.filter((name) => name === null).length;
    if (added === 0 || size + added <= this.#maxNames) return;
    const fields = { guild, size, maxNames: this.#maxNames };
    throw new Problem('too-many-names', `guild "${guild}" has ${size} names`, fields);
  }
}

/** In batches, so that other requests wait for one batch at most. */
async function addTo(book: AddressBook, names: readonly AddEntry<unknown>[]): Promise<Added> {
  let [entries, added] = [0, 0];
  for (let from = 0; from < names.length; from += PART) {
    const stored = await book.addMany(names.slice(from, from + PART));
    entries += stored.entries;
    added += stored.added;
  }
  return { added, changed: entries - added };
}

async function requireMember(book: AddressBook, guild: string, by: string): Promise<void> {
  if ((await book.get(by)) === null) throw notInGuild(guild, by);
}

function notInGuild(guild: string, player: string): Problem {
  return new Problem('not-in-guild', `"${player}" is not in guild "${guild}"`, { guild, player });
}
