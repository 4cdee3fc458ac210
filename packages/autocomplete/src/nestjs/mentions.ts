import type { MentionCompleterOptions } from '../mention-completer.js';
import { MentionCompleter } from '../mention-completer.js';
import type { RecentContacts } from '../recent-contacts.js';
import type { AddressBooks } from './address-books.js';

/** Makes mention completers of the recent contacts and the address books of a module. */
export class Mentions {
  readonly #recent: RecentContacts;
  readonly #books: AddressBooks;
  readonly #options: MentionCompleterOptions;

  /** Throws TypeError or RangeError for options that cannot be used. */
  constructor(recent: RecentContacts, books: AddressBooks, options: MentionCompleterOptions = {}) {
    this.#recent = recent;
    this.#books = books;
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    this.#options = Object.fromEntries(given);
    this.of();
  }

  /** The names of the books in the order in which their members come. Throws as `new AddressBook`. */
  of<Payload = unknown>(...books: string[]): MentionCompleter<Payload> {
    return new MentionCompleter<Payload>(
      this.#recent,
      books.map((name) => this.#books.book<Payload>(name)),
      this.#options,
    );
  }
}
