import type { Scenario } from '../../scenario.js';
import type { BookWork, Phase } from './book-work.js';
import { BYTES, bookCompetitor, figureOf, LOADING } from './book-work.js';
import { METHOD } from './complete.js';
import { UNPOPULAR } from './data.js';
import { BYLEX, MORTISE, PREFIXY_6 } from './kinds/index.js';

const CHECKED = 50;
const MIX = '50 callers';
const LETTER = 'one letter';
const UNPOPULAR_LETTER = 'the unpopular letter';
const BOOST = 'boost';
const FUZZY = 'mistyped';

const phases: readonly Phase[] = [
  { label: MIX, calls: { verb: 'complete', typing: 'prefix' }, callers: 50, checked: CHECKED },
  { label: LETTER, calls: { verb: 'complete', typing: 'letter' }, callers: 1, checked: CHECKED },
  {
    label: UNPOPULAR_LETTER,
    calls: { verb: 'complete', typing: 'unpopular' },
    callers: 1,
    checked: 1,
  },
  { label: FUZZY, calls: { verb: 'completeFuzzy', typing: 'typo' }, callers: 1, checked: CHECKED },
  { label: BOOST, calls: { verb: 'boost', of: 'any' }, callers: 50 },
];

const work: BookWork = { data: 'unpopular', count: 1_000_000, phases };

export const million: readonly Scenario[] = [
  {
    name: 'autocomplete.million',
    title: 'Autocomplete: a million names',
    operation: 'one call, of each kind in turn',
    method:
      `${METHOD} One letter, that letter and a mistyped beginning of 5 to 7 letters are completed by one caller; names of equal chances are boosted by 50. ` +
      `Nobody whose handle begins with ${UNPOPULAR} is popular: that is the unpopular letter. The others are left out, since they take some GB, or minutes.`,
    competitors: [MORTISE, BYLEX, PREFIXY_6].map((kind) => bookCompetitor(kind, work)),
    columns: [
      figureOf(MIX, 'rate'),
      figureOf(MIX, 'cpu'),
      figureOf(LETTER, 'p50'),
      figureOf(LETTER, 'p99'),
      figureOf(LETTER, 'cpu'),
      figureOf(UNPOPULAR_LETTER, 'p50'),
      figureOf(FUZZY, 'p50'),
      figureOf(FUZZY, 'p99'),
      figureOf(FUZZY, 'cpu'),
      figureOf(BOOST, 'rate'),
      figureOf(BOOST, 'cpu'),
      BYTES,
      LOADING,
      figureOf(MIX, 'right'),
      figureOf(LETTER, 'right'),
      figureOf(FUZZY, 'right'),
    ],
    drawn: figureOf(LETTER, 'p50'),
    bars: [
      ...[MIX, LETTER, UNPOPULAR_LETTER, FUZZY].map((label) => ({
        competitor: MORTISE.name,
        figure: figureOf(label, 'right'),
        atLeast: 100,
      })),
      { competitor: MORTISE.name, figure: figureOf(LETTER, 'p50'), atMost: 100 },
      { competitor: MORTISE.name, figure: figureOf(UNPOPULAR_LETTER, 'p50'), atMost: 100 },
      { competitor: MORTISE.name, figure: figureOf(FUZZY, 'p50'), atMost: 1_000 },
      { competitor: MORTISE.name, figure: figureOf(BOOST, 'cpu'), atMost: 25 },
      { competitor: MORTISE.name, figure: BYTES, atMost: 32 },
    ],
  },
];
