import type { Bar, Scenario } from '../../scenario.js';
import { contending, HOLD_MS } from './contention.js';
import { FIFO_FLOOR, FLOOR, MINE, MINE_ON_CLUSTER, PEERS } from './mutexes.js';

const PROCESSES = 2;
const ON_CLUSTER = 10;

/** The window cuts through acquisitions at both of its ends, so that 2 is 2 give or take a few in a thousand. */
const TWO_COMMANDS: Bar = { competitor: MINE.name, figure: 'commands sent', atMost: 2.01 };
const NEAR_FLOOR: Bar = {
  competitor: MINE.name,
  figure: 'hand-offs/s',
  atLeast: 0.95,
  times: FIFO_FLOOR.name,
};
const EXCLUSIVE: Bar = { competitor: MINE.name, figure: 'over-grants', atMost: 0, inEachRepeat: true };

function scenario(contenders: number, seconds: number, bars: readonly Bar[]): Scenario {
  return {
    name: `locks.hand-off-${String(contenders).padStart(3, '0')}`,
    title: `Locks: hand-off, ${contenders} contenders`,
    operation: `one lock acquired, held for ${HOLD_MS} ms and released`,
    method:
      `The contenders are spread over ${PROCESSES} processes and have a connection each; every one asks again as soon as it ` +
      'has released. A hand-off is an acquisition by another contender than the one before. Percentiles are of waits that ended; ' +
      'the maximum counts those that were still waiting. The FIFO ideal is the number of contenders times the mean hold as measured.',
    competitors: [MINE, ...PEERS, FLOOR, FIFO_FLOOR].map((kind) =>
      contending(kind, { type: 'mutex', contenders, limit: 1, processes: PROCESSES, seconds }),
    ),
    columns: [
      'hand-offs/s',
      'operations/s',
      'wait p50 ms',
      'wait p99 ms',
      'wait max ms',
      'p99 ÷ FIFO ideal',
      'with none',
      'max ÷ min',
      'commands sent',
      'Redis CPU µs',
      'over-grants',
    ],
    drawn: 'hand-offs/s',
    bars: [TWO_COMMANDS, EXCLUSIVE, ...bars],
  };
}

/** Both on a node of a Cluster, so that only what the client makes of it differs. */
const cluster: Scenario = {
  name: 'locks.hand-off-cluster',
  title: `Locks: hand-off by the client of a Cluster, ${ON_CLUSTER} contenders`,
  operation: `one lock acquired, held for ${HOLD_MS} ms and released`,
  isCluster: true,
  competitors: [MINE, MINE_ON_CLUSTER].map((kind) =>
    contending(kind, { type: 'mutex', contenders: ON_CLUSTER, limit: 1, processes: PROCESSES, seconds: 3 }),
  ),
  columns: ['hand-offs/s', 'commands sent', 'Redis CPU µs', 'Node CPU µs', 'over-grants'],
  drawn: 'Redis CPU µs',
  bars: [
    { competitor: MINE_ON_CLUSTER.name, figure: 'Redis CPU µs', atMost: 1.5, times: MINE.name },
    { ...EXCLUSIVE, competitor: MINE_ON_CLUSTER.name },
  ],
};

export const handOff: readonly Scenario[] = [
  cluster,
  scenario(2, 1.25, [{ competitor: MINE.name, figure: 'hand-offs/s', atLeast: 500 }]),
  scenario(10, 1.25, [NEAR_FLOOR]),
  scenario(100, 3, [
    NEAR_FLOOR,
    { competitor: MINE.name, figure: 'with none', atMost: 0, inEachRepeat: true },
    { competitor: MINE.name, figure: 'max ÷ min', atMost: 1.1 },
    { competitor: MINE.name, figure: 'p99 ÷ FIFO ideal', atMost: 4 },
  ]),
];
