import { apart, startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { dataBytes } from '../../used-bytes.js';
import type { QueueKind } from './kind.js';
import { ALL, MORTISE } from './kinds/index.js';
import type { TaskActions } from './tasks.process.js';

const MODULE = new URL('tasks.process.js', import.meta.url);
const TASKS = 100_000;
const WARM_UP_TASKS = 100;
const CONCURRENCY = 100;
const WAITING = 'bytes of a waiting task';
const FINISHED = 'bytes of a kept task';
const PER_RUN = 'bytes kept per task run';
const KEPT = 'kept';

function competitor(kind: QueueKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url }) => {
      const fill = (tasks: number): Promise<unknown> =>
        apart(startRemote<TaskActions>(MODULE), (remote) =>
          remote.do('fill', { url, kind: kind.name, tasks, callers: 1, batch: 1000 }),
        );
      const drain = (tasks: number): Promise<unknown> =>
        apart(startRemote<TaskActions>(MODULE), (remote) =>
          remote.do('drain', { url, kind: kind.name, tasks, concurrency: CONCURRENCY }),
        );
      return Promise.resolve({
        // Scripts and statistics of the server are no part of a task.
        warmUp: async () => {
          await fill(WARM_UP_TASKS);
          await drain(WARM_UP_TASKS);
        },
        run: async () => {
          const empty = await dataBytes(redis);
          await fill(TASKS);
          const full = await dataBytes(redis);
          const waiting = await kind.unfinished(redis);
          if (waiting !== TASKS) throw new Error(`${kind.name} has stored ${waiting} of ${TASKS} tasks`);
          await drain(TASKS);
          const kept = await kind.kept(redis);
          const over = await dataBytes(redis);
          await redis.flushall('SYNC');
          const left = over - (await dataBytes(redis));
          return {
            operations: TASKS,
            figures: {
              [WAITING]: (full - empty) / TASKS,
              [PER_RUN]: left / TASKS,
              [KEPT]: kept,
              ...(kept > 0 && { [FINISHED]: left / kept }),
            },
          };
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

export const memory: readonly Scenario[] = [
  {
    name: 'queues.memory',
    title: 'Queues: memory',
    operation: 'one task of 100 bytes stored, taken, run and settled',
    method:
      `${TASKS} tasks are stored, then run by one worker; used_memory without that of clients, and what FLUSHALL frees in the end. ` +
      'How many finished tasks stay is up to the default of each.',
    competitors: ALL.map(competitor),
    columns: [WAITING, FINISHED, KEPT, PER_RUN],
    drawn: WAITING,
    mostRepeats: 1,
    isAtOnce: true,
    bars: [
      { competitor: MORTISE.name, figure: WAITING, atMost: 220 },
      { competitor: MORTISE.name, figure: FINISHED, atMost: 250 },
    ],
  },
];
