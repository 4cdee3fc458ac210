import type { Scenario } from '../../scenario.js';
import { contending, HOLD_MS } from './contention.js';
import { LIMIT, MY_SEMAPHORE, SEMAPHORES } from './semaphores.js';

const CONTENDERS = 50;
const PROCESSES = 2;
const SECONDS = 3;

export const semaphore: readonly Scenario[] = [
  {
    name: 'locks.semaphore',
    title: `Locks: semaphore of ${LIMIT} permits, ${CONTENDERS} contenders`,
    operation: `one permit acquired, held for ${HOLD_MS} ms and released`,
    method:
      `The contenders are spread over ${PROCESSES} processes and have a connection each; every one asks again as soon as it has ` +
      `released. An over-grant is a permit granted while ${LIMIT} others were held.`,
    competitors: SEMAPHORES.map((kind) =>
      contending(kind, {
        type: 'semaphore',
        contenders: CONTENDERS,
        limit: LIMIT,
        processes: PROCESSES,
        seconds: SECONDS,
      }),
    ),
    columns: [
      'operations/s',
      'wait p50 ms',
      'wait p99 ms',
      'wait max ms',
      'with none',
      'max ÷ min',
      'commands sent',
      'Redis CPU µs',
      'over-grants',
    ],
    bars: [{ competitor: MY_SEMAPHORE.name, figure: 'over-grants', atMost: 0, inEachRepeat: true }],
  },
];
