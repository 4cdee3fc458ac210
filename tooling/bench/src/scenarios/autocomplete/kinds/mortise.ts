import { AddressBook } from '@mortise/autocomplete';
import { versionOf } from '../../../version-of.js';
import type { Named } from '../data.js';
import type { BookKind } from '../kind.js';
import { BOOK_NAME, LIMIT } from '../kind.js';
import { sharedConnection } from './connection.js';

const NAME = '@mortise/autocomplete';

export const MORTISE: BookKind = {
  name: NAME,
  version: versionOf(NAME),
  verbs: ['complete', 'completeFuzzy', 'boost'],
  order: 'score',
  connect: (url) => {
    // All callers of a process share one, which sends together what they change at the same time.
    const book = new AddressBook(sharedConnection(url), BOOK_NAME);
    const complete = async (text: string, fuzzy: boolean): Promise<string[]> =>
      (await book.complete(text, { limit: LIMIT, fuzzy })).map(({ key }) => key);
    return {
      load: (names) => book.addMany(entriesOf(names)),
      callers: (count) =>
        Array.from({ length: count }, () => ({
          complete: (text) => complete(text, false),
          completeFuzzy: (text) => complete(text, true),
          boost: (key) => book.boost(key),
        })),
    };
  },
};

function* entriesOf(names: readonly Named[]): Generator<{ key: string; score: number }> {
  for (const { name, score } of names) yield { key: name, score };
}
