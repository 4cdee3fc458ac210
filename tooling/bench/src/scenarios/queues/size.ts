/** Ten million waiting tasks: what they take, and whether anything slows down. */
import { Queue } from '@mortise/queues';
import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { apart, startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { serverCounters } from '../../server-counters.js';
import { dataBytes } from '../../used-bytes.js';
import type { QueueKind } from './kind.js';
import { QUEUE } from './kind.js';
import { BEE_QUEUE_LEAN, BULLMQ, MORTISE } from './kinds/index.js';
import type { TaskActions } from './tasks.process.js';

const MODULE = new URL('tasks.process.js', import.meta.url);
const TASKS = 10_000_000;
/** For the peers, whose bytes of a task are the same at any size. */
const PEER_TASKS = 200_000;
const FEW = 10_000;
/** Tasks of one measurement of the drain. */
const DRAINED = 10_000;
const CONCURRENCY = 100;
const LOOKS = 50;
const RESTART_LIMIT_MS = 600_000;
const WAITING = 'bytes of a waiting task';
const COUNTS = 'counts ms at most';
const LIST = 'list ms at most';
const SLOWER = 'Redis CPU of a drained task, full ÷ few';
const RESTART = 'restart s';

/** The longest of many calls, ms. */
async function longest(call: () => Promise<unknown>): Promise<number> {
  let most = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    const startedAt = performance.now();
    await call();
    most = Math.max(most, performance.now() - startedAt);
  }
  return most;
}

/** Of a task that waits with others, some of which are run. */
async function drainMicros(redis: Redis, kind: QueueKind, url: string): Promise<number> {
  const before = await serverCounters(redis);
  await apart(startRemote<TaskActions>(MODULE), (remote) =>
    remote.do('take', { url, kind: kind.name, tasks: DRAINED, concurrency: CONCURRENCY }),
  );
  return ((await serverCounters(redis)).cpuSeconds - before.cpuSeconds) * 1e6;
}

function competitor(kind: QueueKind, most: number): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: async (_redis, { scale }) => {
      const tasks = Math.ceil(most * scale);
      // The other server has no append-only file.
      const server = await startSingle({ appendFsync: 'everysec', startMs: RESTART_LIMIT_MS });
      const redis = new Redis(server.url, { maxRetriesPerRequest: null });
      const { url } = server;
      const fill = (count: number): Promise<unknown> =>
        apart(startRemote<TaskActions>(MODULE), (remote) =>
          remote.do('fill', { url, kind: kind.name, tasks: count, callers: 2, batch: 1000 }),
        );
      return {
        warmUp: async () => {
          await fill(FEW);
          await drainMicros(redis, kind, url);
          await redis.flushall('SYNC');
        },
        run: async () => {
          const empty = await dataBytes(redis);
          const isMine = kind === MORTISE;
          // By default a queue holds ten million, those that ended included.
          if (isMine) await new Queue(redis, QUEUE).configure({ maxTasks: 2 * tasks });
          if (isMine) await fill(FEW + DRAINED);
          const few = isMine ? await drainMicros(redis, kind, url) : Number.NaN;
          await fill(isMine ? tasks - FEW : tasks);
          const full = await dataBytes(redis);
          const figures = { [WAITING]: (full - empty) / tasks };
          if (!isMine) return { operations: tasks, figures };
          const queue = new Queue(redis, QUEUE);
          const counts = await longest(() => queue.counts());
          const list = await longest(() => queue.list('ready', { limit: 100 }));
          const many = await drainMicros(redis, kind, url);
          await server.kill();
          const startedAt = performance.now();
          await server.restart();
          const restart = (performance.now() - startedAt) / 1000;
          const { ready } = await queue.counts();
          // A worker that stops has run a few more.
          if (ready < tasks - 2 * DRAINED) throw new Error(`${ready} tasks are left of ${tasks}`);
          return {
            operations: tasks,
            figures: { ...figures, [COUNTS]: counts, [LIST]: list, [SLOWER]: many / few, [RESTART]: restart },
          };
        },
        close: async () => {
          redis.disconnect();
          await server.stop();
        },
      };
    },
  };
}

export const size: readonly Scenario[] = [
  {
    name: 'queues.size',
    title: 'Queues: ten million waiting tasks',
    operation: 'one task of 100 bytes that waits',
    method:
      `${TASKS.toLocaleString('en')} tasks, of the peers ${PEER_TASKS.toLocaleString('en')}, on a server with an append-only file (everysec). counts and the first page of the list are called ${LOOKS} times each. ` +
      `The drain takes ${DRAINED.toLocaleString('en')} tasks of all, and of twice as many. Then the server is killed, and starts with its file.`,
    competitors: [
      competitor(MORTISE, TASKS),
      competitor(BULLMQ, PEER_TASKS),
      competitor(BEE_QUEUE_LEAN, PEER_TASKS),
    ],
    columns: [WAITING, COUNTS, LIST, SLOWER, RESTART],
    drawn: WAITING,
    mostRepeats: 1,
    bars: [
      { competitor: MORTISE.name, figure: WAITING, atMost: 150 },
      { competitor: MORTISE.name, figure: COUNTS, atMost: 20 },
      { competitor: MORTISE.name, figure: LIST, atMost: 20 },
      // A rate of 0.95 of that with few tasks.
      { competitor: MORTISE.name, figure: SLOWER, atMost: 1 / 0.95 },
    ],
  },
];
