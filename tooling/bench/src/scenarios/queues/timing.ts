import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Done } from '../../remote.js';
import type { Bar, Competitor, Place, Scenario } from '../../scenario.js';
import type { QueueKind } from './kind.js';
import { BEE_QUEUE, BEE_QUEUE_LEAN, BULLMQ, FLOOR, MORTISE, MORTISE_FETCHED } from './kinds/index.js';
import type { TimingActions } from './timing.process.js';

const MODULE = new URL('timing.process.js', import.meta.url);
const PER_SECOND = 100;
const SECONDS = 5;
const WARM_UP_SECONDS = 0.5;
const DELAYED = 500;
const FIRST_DELAY_MS = 10;
const LAST_DELAY_MS = 2_000;
/** Has no divisor in common with `DELAYED`: each step once, in no order. */
const STRIDE = 197;

type Timed = (remote: ReturnType<typeof startRemote<TimingActions>>, place: Place) => Promise<Done<number[]>>;

function competitor(kind: QueueKind, warmUp: Timed, run: Timed): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, place) => {
      const remote = startRemote<TimingActions>(MODULE);
      return Promise.resolve({
        warmUp: () => warmUp(remote, place),
        run: async () => {
          const { result, spent } = await run(remote, place);
          return {
            operations: result.length,
            figures: {
              'min ms': percentile(result, 0),
              'p50 ms': percentile(result, 0.5),
              'p99 ms': percentile(result, 0.99),
              'max ms': percentile(result, 1),
            },
            elsewhere: spent,
          };
        },
        close: () => remote.kill(),
      });
    },
  };
}

function paced(kind: QueueKind): Competitor {
  const during =
    (ofPlace: (place: Place) => number): Timed =>
    (remote, place) =>
      remote.do('pace', {
        url: place.url,
        kind: kind.name,
        tasks: Math.round(ofPlace(place) * PER_SECOND),
        perSecond: PER_SECOND,
      });
  return competitor(
    kind,
    during(() => WARM_UP_SECONDS),
    during(({ seconds = SECONDS }) => seconds),
  );
}

function delayed(kind: QueueKind, isBurst: boolean): Competitor {
  const step = (LAST_DELAY_MS - FIRST_DELAY_MS) / (DELAYED - 1);
  const delays = Array.from({ length: DELAYED }, (_, index) =>
    Math.round(FIRST_DELAY_MS + ((index * STRIDE) % DELAYED) * step),
  );
  const all =
    (chosen: readonly number[]): Timed =>
    (remote, { url }) =>
      remote.do('delay', { url, kind: kind.name, delays: chosen, isBurst });
  return competitor(kind, all(delays.filter((delayMs) => delayMs < WARM_UP_SECONDS * 1000)), all(delays));
}

function percentiles(p50: number, p99: number): Bar[] {
  return [
    { competitor: MORTISE.name, figure: 'p50 ms', atMost: p50 },
    { competitor: MORTISE.name, figure: 'p99 ms', atMost: p99 },
  ];
}

const COLUMNS = ['min ms', 'p50 ms', 'p99 ms', 'max ms', 'Redis CPU µs', 'commands sent', 'commands run'];

export const timing: readonly Scenario[] = [
  {
    name: 'queues.latency',
    title: `Queues: from enqueue to start, ${PER_SECOND} tasks a second`,
    operation: 'one task of 100 bytes stored, taken, run and settled',
    method:
      'From the call of enqueue until the handler starts, in one process on one clock, with a worker of concurrency 10 that has nothing else to do.',
    competitors: [MORTISE, MORTISE_FETCHED, BULLMQ, BEE_QUEUE, BEE_QUEUE_LEAN, FLOOR].map(paced),
    columns: COLUMNS,
    drawn: 'p50 ms',
    bars: [
      ...percentiles(0.3, 2),
      { competitor: MORTISE.name, figure: 'p50 ms', atMost: 1, times: BEE_QUEUE_LEAN.name },
    ],
  },
  {
    name: 'queues.delayed',
    title: 'Queues: lateness of delayed tasks',
    operation: 'one delayed task stored, taken, run and settled',
    method:
      `${DELAYED} tasks with delays from ${FIRST_DELAY_MS} to ${LAST_DELAY_MS} ms, stored one after the other. Late is the start of the handler ` +
      'less the call of enqueue and the delay, on one clock.',
    competitors: [MORTISE, BULLMQ, BEE_QUEUE, BEE_QUEUE_LEAN].map((kind) => delayed(kind, false)),
    columns: COLUMNS,
    drawn: 'p50 ms',
    bars: percentiles(1.5, 5),
  },
  {
    name: 'queues.delayed-burst',
    title: 'Queues: lateness of delayed tasks, stored at once',
    operation: 'one delayed task stored, taken, run and settled',
    method:
      `${DELAYED} tasks with delays from ${FIRST_DELAY_MS} to ${LAST_DELAY_MS} ms, stored at the same time by a producer that has stored none ` +
      'before. Late is the start of the handler less the call of enqueue and the delay, on one clock.',
    competitors: [MORTISE, BULLMQ, BEE_QUEUE, BEE_QUEUE_LEAN].map((kind) => delayed(kind, true)),
    columns: COLUMNS,
    drawn: 'p50 ms',
    bars: percentiles(1.5, 5),
  },
];
