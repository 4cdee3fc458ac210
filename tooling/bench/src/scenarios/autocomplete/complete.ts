import type { Bar, Scenario } from '../../scenario.js';
import type { BookWork } from './book-work.js';
import { BYTES, bookCompetitor, FIGURES, LOADING } from './book-work.js';
import type { BookKind } from './kind.js';
import { BOOK, BYLEX, FLEXSEARCH, MINISEARCH, MORTISE, PREFIXY, SOULMATE } from './kinds/index.js';

const CALLERS = 50;
const CHECKED = 200;
const AOF = 'AOF bytes';
const ALL: readonly BookKind[] = [MORTISE, BOOK, BYLEX, SOULMATE, PREFIXY, MINISEARCH, FLEXSEARCH];

export const METHOD =
  'Handles of a to z, 11.8 bytes on average; their popularity follows the law of Zipf and has nothing to do with how they are spelt. Typed are the beginnings of names, popular ones ' +
  'more often. One process; each caller waits for one answer before the next, and all share what they may share. MiniSearch and FlexSearch have the names in the memory of the process, where there ' +
  'is one caller at a time and its bytes are those of the heap. Answers are compared with what a look at each name finds: right is what keeps the order that the competitor promises, ' +
  'which is the alphabet for the book and BYLEX; best first is what has the ten most popular ones.';

function scenario(name: string, names: string, count: number, bars: readonly Bar[]): Scenario {
  const calls = { verb: 'complete', typing: 'prefix' } as const;
  const work: BookWork = {
    data: 'handles',
    count,
    phases: [{ calls, callers: CALLERS, checked: CHECKED }],
    logged: { [AOF]: calls },
  };
  return {
    name: `autocomplete.complete-${name}`,
    title: `Autocomplete: ${CALLERS} callers, ${names} names`,
    operation: 'one completion of 1 to 6 letters, up to 10 names',
    method: METHOD,
    competitors: ALL.map((kind) => bookCompetitor(kind, work)),
    columns: [
      FIGURES.rate,
      FIGURES.p50,
      FIGURES.p99,
      FIGURES.cpu,
      'Node CPU µs',
      'commands sent',
      BYTES,
      LOADING,
      AOF,
      FIGURES.right,
      FIGURES.best,
    ],
    bars: [
      { competitor: MORTISE.name, figure: FIGURES.right, atLeast: 100 },
      { competitor: MORTISE.name, figure: AOF, atMost: 0 },
      ...bars,
    ],
  };
}

/** As it is here; and as it would be where BYLEX does what it did in the reference. */
const RATE: Bar = { competitor: MORTISE.name, figure: FIGURES.rate, atLeast: 40_000 };
const CPU: Bar = { competitor: MORTISE.name, figure: FIGURES.cpu, atMost: 15 };

export const complete: readonly Scenario[] = [
  scenario('001k', '1 000', 1_000, []),
  scenario('100k', '100 000', 100_000, [
    RATE,
    { ...RATE, times: BYLEX.name, onReference: 62_000 },
    CPU,
    { ...CPU, times: BYLEX.name, onReference: 5.5 },
    { competitor: MORTISE.name, figure: BYTES, atMost: 32 },
  ]),
];
