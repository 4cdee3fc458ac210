/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:autocomplete:{<user>}:recent:<version>` | LIST of entries, last touched first | `touch`, `remove` | with its last entry, or `idleMs` after the last `touch` or `remove` |
 *
 * The version is that of `normalize`, because entries hold normalized forms: lists of another version are not read.
 */
import { KeySpace } from '@mortise/redis';
import { NORMALIZATION_VERSION } from './normalize.js';

export interface BookKeys {
  readonly directory: string;
  readonly meta: string;
  readonly cards: string;
  readonly firstBlock: string;
  readonly tops: string;
}

export class AutocompleteKeys {
  readonly #space: KeySpace;

  constructor(prefix: string | undefined) {
    this.#space = new KeySpace('autocomplete', prefix);
  }

  /** A book, which is the entity: one book, one slot. */
  book(name: string): BookKeys {
    const book = this.#space.entity(name, 'name');
    const version = String(NORMALIZATION_VERSION);
    return {
      directory: book.key('directory', version),
      meta: book.key('meta', version),
      cards: book.key('cards', version),
      firstBlock: `${book.key('block', version)}:0`,
      tops: `${book.key('top', version)}:`,
    };
  }

  /** The contacts of one user, which is the entity: one user, one slot. */
  recent(user: string): string {
    return this.#space.entity(user, 'user').key('recent', String(NORMALIZATION_VERSION));
  }
}
