import { crewWork } from '../../crew.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { percentile } from '../../percentile.js';
import { MORTISE_ALONE } from './daemons.js';
import type { MillionReport, MillionSettings } from './million.process.js';

const ROWS = 1_000_000;
/** Rows that are due in a second. */
const DUE_PER_SECOND = 10_000;
/** The rows that were scheduled last are loaded. */
const SETTLING_SECONDS = 3;
const SECONDS = 10;
const RATE = 'operations/s';
const LATE_P50 = 'late p50 ms';
const LATE_P99 = 'late p99 ms';
const CPU = 'Redis CPU µs';

const competitor: Competitor = {
  name: '@mortise/cache, no database',
  version: MORTISE_ALONE.version,
  prepare: (_redis, { url, seconds = SECONDS, scale }) => {
    const rows = Math.ceil(ROWS * scale);
    return crewWork<MillionReport>({
      module: new URL('million.process.js', import.meta.url),
      settings: [{ url, rows, duePerSecond: DUE_PER_SECOND } satisfies MillionSettings],
      warmUpSeconds: rows / DUE_PER_SECOND + SETTLING_SECONDS,
      seconds,
      outcome: ([report]) => ({
        operations: report!.rows,
        figures: {
          [LATE_P50]: percentile(report!.lateMs, 0.5),
          [LATE_P99]: percentile(report!.lateMs, 0.99),
        },
      }),
    });
  },
};

export const million: readonly Scenario[] = [
  {
    name: 'cache.rows-million',
    title: 'Cache: a million rows, of which 10,000 are due in a second',
    operation: 'one row loaded',
    method:
      'Rows at 100 s, scheduled during the 100 s before. The source answers at once, from the memory of the daemon: how late rows are loaded is what the schedule does. ' +
      'Late is how long the first row of each batch had been due when it was leased: no row of a batch is later.',
    competitors: [competitor],
    columns: [RATE, LATE_P50, LATE_P99, CPU, 'Node CPU µs', 'commands run'],
    drawn: LATE_P99,
    // The time to schedule them.
    mostRepeats: 1,
    bars: [
      { competitor: competitor.name, figure: LATE_P99, atMost: 100 },
      { competitor: competitor.name, figure: RATE, atLeast: 9_500 },
      { competitor: competitor.name, figure: CPU, atMost: 7 },
    ],
  },
];
