/** The slowest thousandth of an hour, while workers are killed and handlers fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Remote } from '../../remote.js';
import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import type { QueueKind } from './kind.js';
import { BULLMQ_LEAN, MORTISE } from './kinds/index.js';
import { Histogram } from './tail-histogram.js';
import type { TailActions } from './tail.process.js';

const MODULE = new URL('tail.process.js', import.meta.url);
const SECONDS = 3_600;
const WORKERS = 2;
const CONCURRENCY = 100;
const CALLERS = 100;
const FAILING = 0.01;
const KILL_EACH_SECONDS = 60;
const PEAK_SECONDS = 10;
const LOOK_MS = 1_000;
const EMPTY_LIMIT_MS = 120_000;
const P999 = 'p99.9 ms';
const RATE = 'tasks/s';

function competitor(kind: QueueKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url, seconds = SECONDS }) => {
      const producer = startRemote<TailActions>(MODULE);
      const serve = { url, kind: kind.name, concurrency: CONCURRENCY, failing: FAILING };
      const employ = async (): Promise<Remote<TailActions>> => {
        const worker = startRemote<TailActions>(MODULE);
        await worker.do('serve', serve);
        return worker;
      };
      let workers: Remote<TailActions>[] = [];
      let half = 0;
      const collect = async (histogram: Histogram, from = workers): Promise<void> => {
        for (const { result } of await Promise.all(from.map((worker) => worker.do('taken', undefined))))
          histogram.merge(result);
      };
      const untilStarted = async (stored: number, histogram: Histogram): Promise<void> => {
        const deadline = performance.now() + EMPTY_LIMIT_MS;
        for (; histogram.count < stored; await collect(histogram)) {
          if (performance.now() > deadline) throw new Error(`${stored - histogram.count} have not started`);
          await sleep(LOOK_MS);
        }
      };
      return Promise.resolve({
        warmUp: async () => {
          workers = await Promise.all(Array.from({ length: WORKERS }, employ));
          const peak = { url, kind: kind.name, callers: CALLERS, seconds: PEAK_SECONDS };
          const startedAt = performance.now();
          const { result: stored } = await producer.do('produce', peak);
          const histogram = new Histogram();
          await collect(histogram);
          half = histogram.count / ((performance.now() - startedAt) / 1000) / 2;
          await untilStarted(stored, histogram);
        },
        run: async () => {
          const histogram = new Histogram();
          const over = new AbortController();
          const rate = { url, kind: kind.name, callers: 0, perSecond: half, seconds };
          const producing = producer.do('produce', rate).finally(() => over.abort());
          let kills = 0;
          while (await isPassed(KILL_EACH_SECONDS * 1000, over.signal)) {
            const victim = kills % WORKERS;
            kills += 1;
            // Its times would end with it.
            await collect(histogram, [workers[victim]!]);
            await workers[victim]!.kill();
            workers[victim] = await employ();
          }
          const { result: stored, spent } = await producing;
          await sleep(LOOK_MS);
          await collect(histogram);
          const lengths = await kind.unfinished(redis);
          return {
            operations: stored,
            figures: {
              [RATE]: stored / spent.seconds,
              'p50 ms': histogram.percentile(0.5),
              'p99 ms': histogram.percentile(0.99),
              [P999]: histogram.percentile(0.999),
              'max ms': histogram.percentile(1),
              kills,
              'started of stored': histogram.count / stored,
              'unfinished at the end': lengths,
            },
          };
        },
        close: async () => {
          await Promise.all([...workers, producer].map((remote) => remote.kill()));
        },
      });
    },
  };
}

/** Resolves when the time has passed, or before with false. */
function isPassed(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}

export const tail: readonly Scenario[] = [
  {
    name: 'queues.tail',
    title: 'Queues: the tail of an hour at half the peak rate',
    operation: 'one task of 100 bytes stored, taken, run and settled',
    method:
      `A producer stores at half the rate that it and ${WORKERS} processes with a worker of concurrency ${CONCURRENCY} each reached together just before, for ${SECONDS / 60} minutes ` +
      `or what --seconds says. ${FAILING * 100} % of the handlers throw; one of the processes gets SIGKILL each ${KILL_EACH_SECONDS} s, and another takes its place. ` +
      'From the call of enqueue until the first start of the handler, on one clock. A task whose handler was killed counts once more.',
    competitors: [competitor(MORTISE), competitor(BULLMQ_LEAN)],
    columns: [
      RATE,
      'p50 ms',
      'p99 ms',
      P999,
      'max ms',
      'kills',
      'started of stored',
      'unfinished at the end',
    ],
    drawn: P999,
    mostRepeats: 1,
    bars: [{ competitor: MORTISE.name, figure: P999, atMost: 10 }],
  },
];
