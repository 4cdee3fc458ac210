import { startRemote } from '../../remote.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import { serverCounters } from '../../server-counters.js';
import type { QueueKind } from './kind.js';
import { ALL, BULLMQ, LAYER, MORTISE } from './kinds/index.js';
import type { TaskActions } from './tasks.process.js';

const MODULE = new URL('tasks.process.js', import.meta.url);
const CALLERS = 100;
const WARM_UP_SHARE = 0.25;
const BOTH = 'Redis CPU µs, enqueue + drain';
/** At most a quarter more time. */
const LEAST_OF_LAYER = 0.8;
const REPEATED = 'run again';

/** One process stores the tasks and ends; then another one, which was there before, runs them. */
function competitor(kind: QueueKind, concurrency: number, tasks: number): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url }) => {
      const producer = startRemote<TaskActions>(MODULE);
      const worker = startRemote<TaskActions>(MODULE);
      const fill = (count: number): Promise<unknown> =>
        producer.do('fill', { url, kind: kind.name, tasks: count, callers: CALLERS, batch: 1 });
      let fillMicros = 0;
      return Promise.resolve({
        warmUp: async () => {
          const few = Math.round(tasks * WARM_UP_SHARE);
          await fill(few);
          await worker.do('drain', { url, kind: kind.name, tasks: few, concurrency });
          const before = await serverCounters(redis);
          await fill(tasks);
          await producer.kill();
          fillMicros = ((await serverCounters(redis)).cpuSeconds - before.cpuSeconds) * 1e6;
        },
        run: async () => {
          const before = await serverCounters(redis);
          const { result, spent } = await worker.do('drain', { url, kind: kind.name, tasks, concurrency });
          const drainMicros = ((await serverCounters(redis)).cpuSeconds - before.cpuSeconds) * 1e6;
          return {
            operations: tasks,
            figures: { [BOTH]: (fillMicros + drainMicros) / tasks, [REPEATED]: result.repeated },
            elsewhere: { ...spent, seconds: result.seconds },
          };
        },
        close: async () => {
          await Promise.all([producer.kill(), worker.kill()]);
        },
      });
    },
  };
}

function scenario(concurrency: number, tasks: number, bars: readonly Bar[]): Scenario {
  return {
    name: `queues.drain-${String(concurrency).padStart(3, '0')}`,
    title: `Queues: drain, concurrency ${concurrency}`,
    operation: 'one task of 100 bytes taken, run and settled',
    method:
      `One process has stored ${tasks} tasks, by ${CALLERS} concurrent callers; then one worker in another process runs them. ` +
      'Time counts from the first handler until nothing waits or runs. That every task was run is checked.',
    competitors: ALL.map((kind) => competitor(kind, concurrency, tasks)),
    columns: [
      'operations/s',
      'Redis CPU µs',
      BOTH,
      'Node CPU µs',
      'commands sent',
      'commands run',
      'bytes in',
      'bytes out',
      REPEATED,
    ],
    bars,
  };
}

/** The classes of BullMQ on our engine, beside the engine itself and BullMQ. */
function ofLayer(concurrency: number, tasks: number): Scenario {
  const { name, title, ...others } = scenario(concurrency, tasks, [
    { competitor: LAYER.name, figure: 'operations/s', atLeast: LEAST_OF_LAYER, times: MORTISE.name },
    { competitor: LAYER.name, figure: 'operations/s', atLeast: 1, times: BULLMQ.name },
  ]);
  return {
    ...others,
    name: name.replace('drain', 'layer'),
    title: title.replace('drain', "drain with BullMQ's classes"),
    competitors: [LAYER, MORTISE, BULLMQ].map((kind) => competitor(kind, concurrency, tasks)),
  };
}

function rate(atLeast: number): Bar {
  return { competitor: MORTISE.name, figure: 'operations/s', atLeast, times: BULLMQ.name };
}

export const drain: readonly Scenario[] = [
  scenario(1, 5_000, [rate(1.6)]),
  scenario(10, 20_000, [rate(2)]),
  scenario(100, 60_000, [
    rate(5),
    { competitor: MORTISE.name, figure: BOTH, atMost: 8 },
    { competitor: MORTISE.name, figure: 'Node CPU µs', atMost: 10 },
  ]),
  ofLayer(10, 20_000),
  ofLayer(100, 60_000),
];
