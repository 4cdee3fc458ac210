/**
 * The address books of guilds, each for its members. The members of a guild are the names of its book: so there is one truth, in
 * one place, and no second list that could say something else. Whoever is in it may read it, add others, change and remove them.
 *
 * Nobody joins by themselves: they are added by a member. Of a guild that is empty there is none, and its founder is whoever adds
 * themselves first.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { AddEntry, AddressBook } from '@mortise/autocomplete';
import { AddressBooks, InjectAddressBooks } from '@mortise/autocomplete/nestjs';
import { Mutex } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, REDIS } from '../tokens.js';

/** Of the lock under which a guild is founded. A process that dies meanwhile holds up the next founder for so long. */
const LEASE_MS = 2_000;
const WAIT_MS = 500;

/** Names that are on their way to Redis at once: they hold it for about 10 ms. */
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
  readonly #books: AddressBooks;

  constructor(
    @InjectAddressBooks() books: AddressBooks,
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) config: Config,
  ) {
    this.#books = books;
    this.#redis = redis;
    this.#prefix = config.MORTISE_PREFIX;
    this.#maxNames = config.BOOK_MAX_NAMES;
  }

  /**
   * Does something with the book for a member. Throws the problem `not-in-guild` for anybody else. One round trip, then that of `act`:
   * who was removed in between does it all the same.
   */
  async write<T>(guild: string, by: string, act: (book: AddressBook) => Promise<T>): Promise<T> {
    const book = this.#books.book(guild);
    await requireMember(book, guild, by);
    return act(book);
  }

  /** As `write`, for what changes nothing: it is done while the member is looked for. */
  async read<T>(guild: string, by: string, act: (book: AddressBook) => Promise<T>): Promise<T> {
    const book = this.#books.book(guild);
    const [isMember, outcome] = await Promise.allSettled([requireMember(book, guild, by), act(book)]);
    for (const each of [isMember, outcome]) if (each.status === 'rejected') throw each.reason;
    return (outcome as PromiseFulfilledResult<T>).value;
  }

  /**
   * Adds names, or changes those that are there. Repeating it is safe. Throws the problems `not-in-guild`, `too-many-names` and, for a
   * founder, `lock-timeout`. Two round trips, one of them for the names; founding takes five.
   */
  async add(guild: string, by: string, names: readonly AddEntry<unknown>[]): Promise<Added> {
    const book = this.#books.book(guild);
    const [member, size] = await Promise.all([book.get(by), book.size()]);
    const own = names.find(({ key }) => key === by);
    if (member === null && size === 0 && own !== undefined) return this.#found(guild, own, names);
    if (member === null) throw notInGuild(guild, by);
    await this.#requireRoom(book, guild, size, names);
    return addTo(book, names);
  }

  /** One founder at a time. They come first, and alone: should the process die, nobody has names in a guild that nobody may enter. */
  async #found(guild: string, own: AddEntry<unknown>, names: readonly AddEntry<unknown>[]): Promise<Added> {
    const book = this.#books.book(guild);
    const mutex = new Mutex(this.#redis, `address-book:${guild}`, {
      prefix: this.#prefix,
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

  /** Names that are there need none. What others add at the same time is not seen, so a book may have a few more. */
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

/** Part by part, so that other requests don't wait for more than a part. */
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
