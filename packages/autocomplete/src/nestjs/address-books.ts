import type { RedisClient } from '@mortise/redis';
import { AddressBook } from '../book/address-book.js';
import type { AddressBookOptions } from '../options.js';

/** What holds for all address books of a module. */
export type AddressBooksModuleOptions = Omit<AddressBookOptions, 'prefix'>;

/** Books that are kept at hand. */
const MAX_KEPT = 1_000;

/**
 * Makes address books with the client, the prefix and the options of the module. Books are known when they are used, not at boot. The
 * 1,000 that were used last are the same objects each time, so that changes of one book from requests of the same tick travel together.
 */
export class AddressBooks {
  readonly #redis: RedisClient;
  readonly #options: AddressBookOptions;
  readonly #kept = new Map<string, AddressBook>();

  /** Throws TypeError or RangeError for a client or options that cannot be used. */
  constructor(redis: RedisClient, prefix: string | undefined, options: AddressBooksModuleOptions = {}) {
    this.#redis = redis;
    const given = Object.entries({ ...options, prefix }).filter(([, value]) => value !== undefined);
    this.#options = Object.fromEntries(given);
    // What no book could be made with lets the boot fail.
    this.#make('any');
  }

  /** Throws as `new AddressBook`. */
  book<Payload = unknown>(name: string): AddressBook<Payload> {
    const book = this.#kept.get(name) ?? this.#make(name);
    // The one used last is the last to go.
    this.#kept.delete(name);
    this.#kept.set(name, book);
    if (this.#kept.size > MAX_KEPT) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest!);
    }
    return book as AddressBook<Payload>;
  }

  #make(name: string): AddressBook {
    return new AddressBook(this.#redis, name, this.#options);
  }
}
