import type { Scenario } from '../../scenario.js';
import type { BookWork } from './book-work.js';
import { BYTES, bookCompetitor, FIGURES, LOADING } from './book-work.js';
import type { BookKind } from './kind.js';
import { FLEXSEARCH, MINISEARCH, MORTISE, SOULMATE } from './kinds/index.js';

const METHOD =
  'Names of people, of two words and some of three; their popularity follows the law of Zipf. Typed are the beginnings of two words of a name, 2 or 3 letters each, in any order, by one caller; the words of ' +
  'popular names more often. Right is an answer with the ten most popular names that have both, each in a word of its own.';

function scenario(
  name: string,
  names: string,
  count: number,
  checked: number,
  kinds: readonly BookKind[],
  rest: Pick<Scenario, 'mostRepeats'> = {},
): Scenario {
  const work: BookWork = {
    data: 'people',
    count,
    phases: [{ calls: { verb: 'complete', typing: 'words' }, callers: 1, checked }],
  };
  return {
    ...rest,
    name: `autocomplete.words-${name}`,
    title: `Autocomplete: two words, ${names} names`,
    operation: 'one completion of two words, up to 10 names',
    method: METHOD,
    competitors: kinds.map((kind) => bookCompetitor(kind, work)),
    columns: [FIGURES.p50, FIGURES.p99, FIGURES.cpu, 'commands sent', BYTES, LOADING, FIGURES.right],
    drawn: FIGURES.p50,
    bars: [
      { competitor: MORTISE.name, figure: FIGURES.p50, atMost: 600 },
      { competitor: MORTISE.name, figure: FIGURES.right, atLeast: 100 },
    ],
  };
}

export const words: readonly Scenario[] = [
  scenario('100k', '100 000', 100_000, 100, [MORTISE, SOULMATE, MINISEARCH, FLEXSEARCH]),
  // MiniSearch takes some seconds for the names, and half a second for a query.
  scenario('million', 'a million', 1_000_000, 30, [MORTISE, MINISEARCH], { mostRepeats: 1 }),
];
