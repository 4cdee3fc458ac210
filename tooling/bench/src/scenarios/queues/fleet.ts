import { setTimeout as sleep } from 'node:timers/promises';
import { startRemote } from '../../remote.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { QueueKind } from './kind.js';
import { BEE_QUEUE, BULLMQ, MORTISE } from './kinds/index.js';
import type { TaskActions } from './tasks.process.js';
import type { WorkerActions } from './worker.process.js';

const WORKERS = new URL('worker.process.js', import.meta.url);
const PRODUCER = new URL('tasks.process.js', import.meta.url);
/** Several times the longest pause between two commands of each. */
const SECONDS = 60;
const MAX_PER_WORKER = 0.1;
const SETTLING_MS = 5_000;
/** Tasks that come one by one to see what each brings about. */
const ARRIVALS = 500;
const ARRIVAL_MS = 10;
const PER_WORKER = 'commands/s of an idle worker';
const PER_ARRIVAL = 'commands by all for a task that comes';

interface Fleet {
  readonly processes: number;
  readonly workers: number;
}

function competitor(kind: QueueKind, { processes, workers }: Fleet): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url, seconds = SECONDS }) => {
      const producer = startRemote<TaskActions>(PRODUCER);
      const remotes = Array.from({ length: processes }, () => startRemote<WorkerActions>(WORKERS));
      const employ = { url, kind: kind.name, workers: workers / processes, isHanging: false };
      const arrive = { url, kind: kind.name, tasks: ARRIVALS, callers: 1, batch: 1, pauseMs: ARRIVAL_MS };
      const sent = async (): Promise<number> => {
        const all = await Promise.all(remotes.map((remote) => remote.do('sent', undefined)));
        return all.reduce((sum, { result }) => sum + result, 0);
      };
      /** The commands of all workers during the work, and its time. */
      const during = async (work: () => Promise<unknown>): Promise<{ commands: number; elapsed: number }> => {
        const before = await sent();
        const startedAt = performance.now();
        await work();
        const elapsed = (performance.now() - startedAt) / 1000;
        return { commands: (await sent()) - before, elapsed };
      };
      return Promise.resolve({
        warmUp: async () => {
          await Promise.all(remotes.map((remote) => remote.do('employ', employ)));
          await sleep(SETTLING_MS);
        },
        run: async () => {
          const idle = await during(() => sleep(seconds * 1000));
          const busy = await during(() => producer.do('fill', arrive));
          const perSecond = idle.commands / idle.elapsed;
          return {
            operations: 1,
            figures: {
              [PER_WORKER]: perSecond / workers,
              [PER_ARRIVAL]: (busy.commands - perSecond * busy.elapsed) / ARRIVALS,
            },
          };
        },
        close: async () => {
          await Promise.all([...remotes, producer].map((remote) => remote.kill()));
        },
      });
    },
  };
}

function where({ processes, workers }: Fleet): string {
  return processes === 1 ? 'One process with one worker' : `${workers} workers in ${processes} processes`;
}

function scenario(
  fleet: Fleet,
  rest: Pick<Scenario, 'name' | 'title' | 'isAtOnce'>,
  bars: readonly Bar[],
): Scenario {
  return {
    ...rest,
    operation: 'all of it',
    method:
      `${where(fleet)}; first nothing comes for ${SECONDS} s, then ${ARRIVALS} tasks one by one: ` +
      'what all send for each beyond what they send when idle, with what takes and settles it.',
    competitors: [MORTISE, BULLMQ, BEE_QUEUE].map((kind) => competitor(kind, fleet)),
    columns: [PER_WORKER, PER_ARRIVAL],
    drawn: PER_WORKER,
    mostRepeats: 1,
    bars: [{ competitor: MORTISE.name, figure: PER_WORKER, atMost: MAX_PER_WORKER }, ...bars],
  };
}

export const fleet: readonly Scenario[] = [
  scenario(
    { processes: 1, workers: 1 },
    { name: 'queues.idle-0001', title: 'Queues: an idle worker', isAtOnce: true },
    [],
  ),
  scenario(
    { processes: 20, workers: 1_000 },
    { name: 'queues.idle-1000', title: 'Queues: 1,000 idle workers in 20 processes' },
    [{ competitor: MORTISE.name, figure: PER_ARRIVAL, atMost: 10 }],
  ),
];
