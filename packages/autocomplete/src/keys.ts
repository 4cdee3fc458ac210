/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:autocomplete:{<user>}:recent:<version>` | LIST of entries, last touched first | `touch`, `remove` | with its last entry, or `idleMs` after the last `touch` or `remove` |
 * | `<prefix>:autocomplete:{<user>}:ranked:<version>` | ZSET entry -> rank by frecency, with `halfLifeMs` instead of the list | `touch`, `remove` | as the list |
 * | `<prefix>:autocomplete:{<book>}:meta:<version>` | HASH: size, number of blocks | changes of the book | with its last entry |
 * | `…{<book>}:b:<version>:<n>` | ZSET member -> rank; the first is number 0 | as above | with its last member |
 * | `…{<book>}:directory:<version>` | ZSET of where blocks begin, in the order of bytes | as above | when one block is left |
 * | `…{<book>}:marks:<version>` | STRING of bits for what members begin with, of 64 blocks and more; `…:new` while new ones are made | as above | when one block is left |
 * | `…{<book>}:cards:<version>` | HASH encoded key -> what members don't say | as above | with its last card |
 * | `…{<book>}:t:<version>:<form prefix>` | ZSET of the best members with a prefix | as above | when two blocks of it are left, or with its last member |
 *
 * Blocks and top sets have names of one letter, for these are written to the append-only file with each change of a score, and take a tenth of
 * the memory of a name.
 * `…{<book>}:request:<version>:<id>` is a STRING, what a boost with an id has done; it goes away after an hour.
 *
 * Scripts of a book are also given `…{<book>}:absent:<version>`, which never exists (`book/slot-moves.ts`).
 *
 * Scripts of a book make the names of blocks and top sets from the beginnings that they are given (decision 0013).
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
  /** The beginning of names, and the top set of all. */
  readonly tops: string;
  /** The beginning of names. */
  readonly requests: string;
  /** The name, and with `:new` behind it that of the next ones. */
  readonly marks: string;
  /** Never exists. */
  readonly absent: string;
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
      firstBlock: `${book.key('b', version)}:0`,
      tops: `${book.key('t', version)}:`,
      requests: `${book.key('request', version)}:`,
      marks: book.key('marks', version),
      absent: book.key('absent', version),
    };
  }

  /** The contacts of one user, which is the entity: one user, one slot. */
  recent(user: string): string {
    return this.#space.entity(user, 'user').key('recent', String(NORMALIZATION_VERSION));
  }

  /** The same by frecency. Not the same key, since it is of another type. */
  ranked(user: string): string {
    return this.#space.entity(user, 'user').key('ranked', String(NORMALIZATION_VERSION));
  }
}
