import type { Scenario } from '../../scenario.js';
import type { BookWork } from './book-work.js';
import { bookCompetitor, FIGURES } from './book-work.js';
import { METHOD } from './complete.js';
import { MORTISE, PREFIXY, SOULMATE } from './kinds/index.js';

const AOF_ANY = 'AOF bytes, anybody';
const AOF_POPULAR = 'AOF bytes, popular ones';

const work: BookWork = {
  data: 'handles',
  count: 100_000,
  phases: [{ calls: { verb: 'boost', of: 'any' }, callers: 50 }],
  logged: {
    [AOF_ANY]: { verb: 'boost', of: 'any' },
    [AOF_POPULAR]: { verb: 'boost', of: 'popular' },
  },
};

export const boost: readonly Scenario[] = [
  {
    name: 'autocomplete.boost',
    title: 'Autocomplete: boosts, 50 callers, 100 000 names',
    operation: 'the score of one name raised by 1',
    method:
      `${METHOD} Boosted are names of equal chances. The bytes of the append-only file are measured with one caller whose calls travel alone; also for names that ` +
      'are boosted by their popularity, which stand among the best of many prefixes.',
    competitors: [MORTISE, SOULMATE, PREFIXY].map((kind) => bookCompetitor(kind, work)),
    columns: [
      FIGURES.rate,
      FIGURES.p50,
      FIGURES.p99,
      FIGURES.cpu,
      'Node CPU µs',
      'commands sent',
      AOF_ANY,
      AOF_POPULAR,
    ],
    bars: [
      { competitor: MORTISE.name, figure: FIGURES.cpu, atMost: 25 },
      { competitor: MORTISE.name, figure: AOF_ANY, atMost: 115 },
    ],
  },
];
