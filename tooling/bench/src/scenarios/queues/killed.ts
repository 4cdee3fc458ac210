import { setTimeout as sleep } from 'node:timers/promises';
import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import type { QueueKind } from './kind.js';
import { BEE_QUEUE, BULLMQ, MORTISE } from './kinds/index.js';
import type { TaskActions } from './tasks.process.js';
import type { WorkerActions } from './worker.process.js';

const WORKER = new URL('worker.process.js', import.meta.url);
const PRODUCER = new URL('tasks.process.js', import.meta.url);
const SECONDS = 'seconds until it runs again';
/** The second worker is idle, and the first in the middle of its task. */
const SETTLING_MS = 1_000;

function competitor(kind: QueueKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (_redis, { url }) => {
      const victim = startRemote<WorkerActions>(WORKER);
      const heir = startRemote<WorkerActions>(WORKER);
      const producer = startRemote<TaskActions>(PRODUCER);
      return Promise.resolve({
        warmUp: async () => {
          await victim.do('employ', { url, kind: kind.name, workers: 1, isHanging: true });
          await producer.do('fill', { url, kind: kind.name, tasks: 1, callers: 1, batch: 1 });
          await victim.do('untilStarted', undefined);
          await heir.do('employ', { url, kind: kind.name, workers: 1, isHanging: false });
          await sleep(SETTLING_MS);
        },
        run: async () => {
          const killedAt = performance.now();
          await victim.kill();
          await heir.do('untilStarted', undefined);
          return { operations: 1, figures: { [SECONDS]: (performance.now() - killedAt) / 1000 } };
        },
        close: async () => {
          await Promise.all([victim.kill(), heir.kill(), producer.kill()]);
        },
      });
    },
  };
}

export const killed: readonly Scenario[] = [
  {
    name: 'queues.killed',
    title: 'Queues: a worker is killed',
    operation: 'one task that is run again',
    method:
      'A process is killed while its worker runs a task; another one has an idle worker. All have their defaults; all wait at the same time, ' +
      'for it is waiting that is measured.',
    competitors: [MORTISE, BULLMQ, BEE_QUEUE].map(competitor),
    columns: [SECONDS],
    drawn: SECONDS,
    mostRepeats: 1,
    isAtOnce: true,
    bars: [{ competitor: MORTISE.name, figure: SECONDS, atMost: 12 }],
  },
];
