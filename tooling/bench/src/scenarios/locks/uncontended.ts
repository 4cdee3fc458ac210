import { crewWork } from '../../crew.js';
import { comparison } from '../../run.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import { FLOOR, MINE, MINE_WITHOUT_TOKEN, PEERS } from './mutexes.js';
import type { MutexKind } from './mutexes.js';
import type { UncontendedReport, UncontendedSettings } from './uncontended.process.js';

const SECONDS = 2;
/** Until the code of each is compiled. */
const WARM_UP_SECONDS = 1.5;
const BASELINE = { competitor: FLOOR.name, figure: 'Redis CPU µs' };

function competitor({ name, version }: MutexKind, keys: number): Competitor {
  return {
    name,
    version,
    prepare: (_redis, { url, seconds = SECONDS }) =>
      crewWork<UncontendedReport>({
        module: new URL('uncontended.process.js', import.meta.url),
        settings: [{ url, kind: name, keys } satisfies UncontendedSettings],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([report]) => ({
          operations: report!.pairs,
          figures: { 'p50 ms': report!.p50, 'p99 ms': report!.p99 },
        }),
      }),
  };
}

const RATE = 'operations/s';
const PEER = 'redis-semaphore';
/** redis-semaphore has no token. */
const RATES: readonly Bar[] = [
  { competitor: MINE.name, figure: RATE, atLeast: 0.9, times: PEER },
  { competitor: MINE_WITHOUT_TOKEN.name, figure: RATE, atLeast: 1, times: PEER },
];

function scenario(keys: number, rest: Pick<Scenario, 'name' | 'title' | 'isCluster' | 'bars'>): Scenario {
  return {
    ...rest,
    operation: 'a free lock acquired and released',
    method:
      'One process over one connection; for each key, one pair after the other. The CPU of Redis for a request depends on how many of ' +
      'them one read of its socket brings, and so on how busy the machine is; the time in scripts does so less. ' +
      'Mutexes that are due in one tick share a command; where slots count, as on Cluster, only those of a slot do.',
    competitors: [MINE, MINE_WITHOUT_TOKEN, ...PEERS, FLOOR].map((kind) => competitor(kind, keys)),
    baseline: BASELINE,
    columns: [
      RATE,
      'p50 ms',
      'p99 ms',
      'commands sent',
      'socket reads',
      'µs in scripts',
      'Redis CPU µs',
      comparison(BASELINE),
      'Node CPU µs',
    ],
    drawn: 'Redis CPU µs',
  };
}

export const uncontended: readonly Scenario[] = [
  scenario(1, { name: 'locks.uncontended-01', title: 'Locks: uncontended, 1 key' }),
  scenario(50, {
    name: 'locks.uncontended-50',
    title: 'Locks: uncontended, 50 keys at once',
    bars: [
      { competitor: MINE.name, figure: BASELINE.figure, atMost: 11 },
      { competitor: MINE_WITHOUT_TOKEN.name, figure: BASELINE.figure, atMost: 9.4 },
      ...RATES,
    ],
  }),
  scenario(50, {
    name: 'locks.uncontended-50-slots',
    title: 'Locks: uncontended, 50 keys at once in as many slots',
    isCluster: true,
    bars: RATES,
  }),
];
