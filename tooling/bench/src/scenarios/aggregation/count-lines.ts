import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { versionOf } from '../../version-of.js';
import type { CountActions, Way } from './count.process.js';
import { CITIES } from './networks.js';

const MODULE = new URL('count.process.js', import.meta.url);
const LINES = 1_000_000;
const SPEED = 'M lines/s of a core';

interface Counter {
  readonly name: string;
  readonly version: string;
  readonly way: Way;
  /** Over the log, in one measurement. */
  readonly passes: number;
}

const MINE: Counter = { name: '@mortise/worker', version: 'bytes', way: 'bytes', passes: 8 };
const COUNTERS: readonly Counter[] = [
  MINE,
  { name: 'strings, Map, same table', version: '', way: 'strings', passes: 2 },
  { name: 'strings, Map, maxmind', version: versionOf('maxmind'), way: 'maxmind', passes: 1 },
];

function competitor({ name, version, way, passes }: Counter, ranges: number): Competitor {
  return {
    name,
    version,
    prepare: async () => {
      const remote = startRemote<CountActions>(MODULE);
      await remote.do('prepare', { way, ranges, lines: LINES });
      return {
        warmUp: () => remote.do('run', { passes: 1 }),
        run: async () => {
          const { result, spent } = await remote.do('run', { passes });
          if (result !== passes * LINES)
            throw new Error(`${name} counted ${result} of ${passes * LINES} lines`);
          return {
            operations: result,
            elsewhere: spent,
            figures: { [SPEED]: result / spent.cpuMicros },
          };
        },
        close: () => remote.kill(),
      };
    },
  };
}

function scenario(ranges: number, rest: Pick<Scenario, 'name' | 'alsoIn' | 'title' | 'bars'>): Scenario {
  return {
    ...rest,
    operation: 'a log line counted by day and city',
    method:
      `${LINES} lines of two days in memory, from addresses all over IPv4, which is cut into ${ranges} networks with ${CITIES} cities: the worst ` +
      'case for caches, since real logs have few addresses many times. One thread, counters in memory, no Redis; the CPU is that of the whole process, with its collector.',
    competitors: COUNTERS.map((counter) => competitor(counter, ranges)),
    columns: [SPEED, 'operations/s', 'Node CPU µs'],
    drawn: SPEED,
  };
}

export const lines: readonly Scenario[] = [
  scenario(10_000, { name: 'aggregation.lines-10k', title: 'Aggregation: 10 K ranges' }),
  scenario(3_000_000, {
    name: 'aggregation.lines-3m',
    alsoIn: 'files',
    title: 'Aggregation: 3 M ranges',
    bars: [{ competitor: MINE.name, figure: SPEED, atLeast: 5 }],
  }),
];
