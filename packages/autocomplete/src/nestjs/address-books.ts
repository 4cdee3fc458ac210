import type { RedisClient } from '@mortise/redis';
import { requireOptions } from '@mortise/redis';
import { withDefaults } from '@mortise/redis/nestjs';
import { AddressBook } from '../book/address-book.js';
import type { AddressBookOptions } from '../options.js';

/** Books that are kept for later calls. */
const MAX_KEPT = 1_000;

const KNOWN: ReadonlySet<string> = new Set<keyof AddressBookOptions>(['halfLifeMs', 'keysOf', 'telemetry']);

/**
 * Creates address books by name, with the client, the prefix and the options of the module. The provider keeps the 1,000 most
 * recently used books. So changes of one book in one tick, from several requests, share a script call.
 */
export class AddressBooks {
  readonly #redis: RedisClient;
  readonly #options: AddressBookOptions;
  readonly #kept = new Map<string, AddressBook>();

  /** Throws TypeError or RangeError for wrong options. */
  constructor(redis: RedisClient, options: AddressBookOptions) {
    this.#redis = redis;
    this.#options = options;
    void new AddressBook(redis, 'any', options);
  }

  /** The book of that name. Throws like `new AddressBook`. */
  book<Payload = unknown>(name: string): AddressBook<Payload> {
    const book = this.#kept.get(name) ?? new AddressBook(this.#redis, name, this.#options);
    // A map keeps its order of insertion: the first one is the least recently used.
    this.#kept.delete(name);
    this.#kept.set(name, book);
    if (this.#kept.size > MAX_KEPT) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest!);
    }
    return book as AddressBook<Payload>;
  }

  /** A new object for the book of that name; its options override those of the module. Throws like `new AddressBook`. */
  open<Payload = unknown>(name: string, options: Omit<AddressBookOptions, 'prefix'>): AddressBook<Payload> {
    requireOptions('AddressBook', options, KNOWN);
    return new AddressBook<Payload>(
      this.#redis,
      name,
      withDefaults<AddressBookOptions>(this.#options, options),
    );
  }
}
