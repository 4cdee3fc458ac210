import type { PostgresServer } from '@mortise/postgres-server';
import { crewWork } from '../../crew.js';
import { percentile } from '../../percentile.js';
import type { Bar, Competitor, Outcome, Scenario, Spent } from '../../scenario.js';
import type { DaemonKind } from './daemons.js';
import { BOOK, EVERY_MS, MORTISE, MORTISE_ALONE, MORTISE_LARGE, MORTISE_UNCHANGED } from './daemons.js';
import { idsOf, startInventory } from './inventory.js';
import type { RowsReport, RowsSettings } from './rows.process.js';

const WARM_UP_SECONDS = 3;
const SECONDS = 6;
/** A second load sooner than this after the last one is wasted. */
const TWICE_MS = EVERY_MS / 2;
const RATE = 'rows/s';
const TWICE = 'loaded twice, %';
const RUN = 'commands run';
const TRIPS = 'round trips of 1,000 rows';
const CPU = 'Redis CPU µs';
const QUERIES = 'queries of 1,000 rows';
const CACHED = 'in the cache, %';
const INTERVAL_P50 = 'interval p50 ms';
const INTERVAL_P99 = 'interval p99 ms';

interface Load {
  readonly rows: number;
  readonly daemons: number;
}

function competitor(kind: DaemonKind, load: Load): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (redis, { url, seconds = SECONDS, scale }) => {
      const rows = Math.ceil(load.rows * scale);
      const ids = idsOf(rows);
      let database: PostgresServer | undefined;
      try {
        database = await startInventory(rows);
        await kind.schedule(redis, ids);
        const settings = { url, databaseUrl: database.url, kind: kind.name } satisfies RowsSettings;
        const work = await crewWork<RowsReport>({
          module: new URL('rows.process.js', import.meta.url),
          settings: Array.from({ length: load.daemons }, () => settings),
          warmUpSeconds: WARM_UP_SECONDS,
          seconds,
          outcome: outcomeOf,
        });
        let cached = 0;
        return {
          ...work,
          warmUp: async () => {
            await work.warmUp!();
            cached = await kind.cached(redis, ids);
          },
          run: async () => {
            const outcome = await work.run();
            return { ...outcome, figures: { ...outcome.figures, [CACHED]: (100 * cached) / rows } };
          },
          close: async () => {
            await work.close();
            await database!.stop();
          },
        };
      } catch (error) {
        await database?.stop();
        throw error;
      }
    },
  };
}

/** The loads of all processes, row by row. */
function outcomeOf(reports: readonly RowsReport[], { sentCommands }: Spent): Omit<Outcome, 'elsewhere'> {
  const openedAt = Math.max(...reports.map((report) => report.openedAt));
  const closedAt = Math.min(...reports.map((report) => report.closedAt));
  const timesOf = new Map<number, number[]>();
  for (const { loads } of reports) {
    for (let index = 0; index < loads.length; index += 2) {
      const times = timesOf.get(loads[index]!);
      if (times) times.push(loads[index + 1]!);
      else timesOf.set(loads[index]!, [loads[index + 1]!]);
    }
  }
  const intervals: number[] = [];
  let operations = 0;
  let twice = 0;
  for (const times of timesOf.values()) {
    times.sort((a, b) => a - b);
    for (const [index, at] of times.entries()) {
      if (at < openedAt || at >= closedAt) continue;
      operations += 1;
      if (index === 0) continue;
      const interval = at - times[index - 1]!;
      intervals.push(interval);
      if (interval < TWICE_MS) twice += 1;
    }
  }
  const queries = reports.reduce((sum, report) => sum + report.queries, 0);
  return {
    operations,
    figures: {
      [RATE]: ((operations - twice) * 1000) / (closedAt - openedAt),
      [TWICE]: (100 * twice) / operations,
      [TRIPS]: (1000 * sentCommands) / operations,
      [QUERIES]: (1000 * queries) / operations,
      [INTERVAL_P50]: percentile(intervals, 0.5),
      [INTERVAL_P99]: percentile(intervals, 0.99),
    },
  };
}

const COLUMNS = [RATE, TWICE, RUN, TRIPS, CPU, 'Node CPU µs', QUERIES, INTERVAL_P50, INTERVAL_P99, CACHED];

/** As it is here; and as it would be where the book's daemon takes what it took in the reference. */
function cpu(onReference: number): Omit<Bar, 'competitor'>[] {
  const bar = { figure: CPU, atMost: 7 };
  return [bar, { ...bar, times: BOOK.name, onReference }];
}

function scenario(daemons: number, ofBook: number): Scenario {
  const bars = [
    { figure: RATE, atLeast: 9_900 },
    { figure: TWICE, atMost: 0, inEachRepeat: true },
    { figure: CACHED, atLeast: 100, inEachRepeat: true },
    { figure: RUN, atMost: 1.1 },
    { figure: TRIPS, atMost: 10 },
    ...cpu(ofBook),
  ];
  const unchanged = [
    { figure: CPU, atMost: 2 },
    { figure: CACHED, atLeast: 100, inEachRepeat: true },
  ];
  return {
    name: `cache.rows-${daemons}`,
    title: `Cache: 10,000 rows at 1 s over PostgreSQL, ${daemons === 1 ? '1 daemon' : `${daemons} daemons`}`,
    operation: 'one row loaded',
    method:
      'Rows of 240 bytes as JSON, all scheduled at one instant; each daemon is a process. No two loads of a row give the same, but where its rows are unchanged. A row is loaded twice where it is loaded ' +
      `again within ${TWICE_MS} ms, and such loads don't count as rows/s. An interval is the time between two loads of a row: ${EVERY_MS} ms are asked for, of which Mortise takes up to a tenth as jitter.`,
    competitors: [MORTISE, MORTISE_UNCHANGED, BOOK].map((kind) =>
      competitor(kind, { rows: 10_000, daemons }),
    ),
    columns: COLUMNS,
    drawn: RATE,
    bars: [
      ...bars.map((bar) => ({ ...bar, competitor: MORTISE.name })),
      ...unchanged.map((bar) => ({ ...bar, competitor: MORTISE_UNCHANGED.name })),
    ],
  };
}

export const rows: readonly Scenario[] = [
  scenario(1, 48),
  scenario(4, 50),
  {
    name: 'cache.rows-ceiling',
    title: 'Cache: more rows than one daemon can refresh',
    operation: 'one row loaded',
    method:
      '150,000 rows of 240 bytes at 1 s over PostgreSQL, where the bar is, and without a database; so the daemon is always behind. Mortise has batches of 500, four of them at once.',
    competitors: [MORTISE_LARGE, MORTISE_ALONE, BOOK].map((kind) =>
      competitor(kind, { rows: 150_000, daemons: 1 }),
    ),
    columns: COLUMNS,
    drawn: RATE,
    bars: [{ competitor: MORTISE_LARGE.name, figure: RATE, atLeast: 60_000 }],
  },
];
