import { AddressBook } from '@mortise/autocomplete';
import type { Competitor, Scenario } from '../../scenario.js';
import { dataOf } from './data.js';
import { BOOK_NAME } from './kind.js';
import { MORTISE } from './kinds/index.js';
import { sharedConnection } from './kinds/connection.js';

const COUNT = 60_000;
const DEPTH = 9_900;
const STEP = 990;
const PAGES = 100;
const LIMIT = 10;
/** 5 ms. */
const MOST_MICROS = 5_000;
const CPU = 'Redis CPU µs';

/** Scores by the place of a name among all. */
const SCORES: Readonly<Record<string, (index: number) => number>> = {
  'equal scores': () => 1,
  'three scores': (index) => index % 3,
  'all scores different': (index) => index,
};

function competitor(name: string, scoreOf: (index: number) => number): Competitor {
  return {
    name,
    version: MORTISE.version,
    prepare: async (_redis, { url, scale }) => {
      const book = new AddressBook(sharedConnection(url), BOOK_NAME);
      const names = dataOf('handles', Math.ceil(COUNT * scale));
      await book.addMany(names.map((one, index) => ({ key: one.name, score: scoreOf(index) })));
      let cursor: string | null = null;
      for (let depth = 0; depth < DEPTH * scale; depth += STEP) {
        ({ cursor } = await book.page('', { limit: STEP, cursor }));
      }
      return {
        run: async () => {
          for (let page = 0; page < PAGES; page += 1) await book.page('', { limit: LIMIT, cursor });
          return { operations: PAGES };
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

export const pages: readonly Scenario[] = [
  {
    name: 'autocomplete.pages',
    title: `Autocomplete: a page after the ${DEPTH}th of ${COUNT} names`,
    operation: `one page of ${LIMIT} names, of all names in the order of scores`,
    competitors: Object.entries(SCORES).map(([name, scoreOf]) => competitor(name, scoreOf)),
    columns: ['operations/s', CPU, 'Node CPU µs', 'commands sent'],
    drawn: CPU,
    bars: Object.keys(SCORES).map((name) => ({ competitor: name, figure: CPU, atMost: MOST_MICROS })),
  },
];
