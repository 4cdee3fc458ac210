/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:autocomplete:{<user>}:recent:<version>` | LIST of entries, last touched first, and a text with the others | `touch`, `remove` | with its last entry, or `keepMs` after the last `touch` or `remove` |
 * | `<prefix>:autocomplete:{<user>}:ranked:<version>` | ZSET entry -> rank by frecency, with `halfLifeMs` instead of the list | `touch`, `remove` | as the list |
 * | `<prefix>:autocomplete:{<book>}:meta:<version>` | HASH: size, number of blocks | changes of the book | with its last entry |
 * | `<prefix>:autocomplete:{<book>}:b:<version>:<n>` | ZSET member -> rank; the first is number 0 | as above | with its last member |
 * | `<prefix>:autocomplete:{<book>}:directory:<version>` | ZSET of the starts of blocks, in the order of bytes | as above | when one block is left |
 * | `<prefix>:autocomplete:{<book>}:marks:<version>` | STRING of bits for the beginnings of members, in books of 64 blocks and more; `…:new` during a rebuild | as above | when one block is left |
 * | `<prefix>:autocomplete:{<book>}:cards:<version>` | HASH encoded key -> display form, aliases, payload and forms of an entry that has them | as above | with its last card |
 * | `<prefix>:autocomplete:{<book>}:t:<version>:<form prefix>` | ZSET of the best members with a prefix | as above | when two blocks of it are left, or with its last member |
 * | `<prefix>:autocomplete:{<book>}:request:<version>:<id>` | STRING, the result of a boost with an id | `boost` | after an hour |
 *
 * Blocks and top sets have names of one letter: Redis writes them to the append-only file with each change of a score, and they take a
 * tenth of the memory of a name.
 *
 * Scripts of a book also get `…{<book>}:absent:<version>`, which never exists (`book/slot-moves.ts`). They make the names of blocks
 * and top sets from the beginnings in their keys (decision 0013).
 *
 * The version is that of `normalize`, because entries hold normalized forms: lists of another version are not read.
 */
import { KeySpace } from '@mortise/redis';
import { NORMALIZATION_VERSION } from './text/normalize.js';

export interface BookKeys {
  readonly directory: string;
  readonly meta: string;
  readonly cards: string;
  readonly firstBlock: string;
  /** The beginning of names of top sets, and itself the top set of the whole book. */
  readonly tops: string;
  /** The beginning of names of requests. */
  readonly requests: string;
  /** The marks. With `:new` appended, those of a rebuild. */
  readonly marks: string;
  /** A key that never exists. */
  readonly absent: string;
}

export class AutocompleteKeys {
  readonly #space: KeySpace;

  constructor(prefix: string | undefined) {
    this.#space = new KeySpace('autocomplete', prefix);
  }

  /** The keys of a book. The book is the entity: one book, one slot. */
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

  /** The key of a user's contacts. The user is the entity: one user, one slot. */
  recent(user: string): string {
    return this.#space.entity(user, 'user').key('recent', String(NORMALIZATION_VERSION));
  }

  /** The key of a user's contacts by frecency: another one, because it has another type. */
  ranked(user: string): string {
    return this.#space.entity(user, 'user').key('ranked', String(NORMALIZATION_VERSION));
  }
}
