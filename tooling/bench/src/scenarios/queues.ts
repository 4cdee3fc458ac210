import { Queue, Worker } from '@mortise/queues';
import type { Redis } from 'ioredis';
import type { Competitor, Outcome, Scenario, Work } from '../scenario.js';

/** 100 bytes as JSON. */
const PAYLOAD = { data: 'x'.repeat(89) };
const TASKS = 50_000;
const MINE = '@mortise/queues';

type Enqueue = (redis: Redis) => () => Promise<unknown>;

/** `callers` loops that each wait for one enqueue before the next. */
function enqueuing(name: string, version: string, callers: number, make: Enqueue): Competitor {
  return {
    name,
    version,
    prepare: async (redis) => {
      const enqueue = make(redis);
      const run = async (): Promise<Outcome> => {
        await redis.flushall();
        let left = TASKS;
        await Promise.all(
          Array.from({ length: callers }, async () => {
            while (left-- > 0) await enqueue();
          }),
        );
        return { operations: TASKS };
      };
      return { run, close: () => Promise.resolve() };
    },
  };
}

const mine: Enqueue = (redis) => {
  const queue = new Queue(redis, 'bench');
  return () => queue.enqueue('noop', PAYLOAD);
};

const bareList: Enqueue = (redis) => {
  const payload = JSON.stringify(PAYLOAD);
  return () => redis.rpush('bench', payload);
};

/** A worker that drains a full queue with a handler that does nothing. */
function draining(concurrency: number): Competitor {
  return {
    name: MINE,
    version: '0.1',
    prepare: async (redis) => {
      const queue = new Queue(redis, 'bench');
      const fill = (): Promise<unknown> =>
        queue.enqueueMany(Array.from({ length: TASKS }, () => ({ name: 'noop', payload: PAYLOAD })));
      await fill();
      const run = async (): Promise<Outcome> => {
        let done = 0;
        let finish: () => void;
        const finished = new Promise<void>((resolve) => {
          finish = resolve;
        });
        const worker = new Worker(
          redis,
          ['bench'],
          {
            noop: () => {
              done += 1;
              if (done === TASKS) finish();
            },
          },
          { concurrency },
        );
        await worker.start();
        await finished;
        await worker.stop();
        return { operations: TASKS };
      };
      return refilled(run, fill);
    },
  };
}

/** The same without any guarantee: a task that was popped is gone when the process dies. */
function poppingBare(concurrency: number): Competitor {
  return {
    name: 'LPOP, at most once',
    version: '',
    prepare: async (redis) => {
      const payload = JSON.stringify(PAYLOAD);
      const fill = async (): Promise<void> => {
        for (let from = 0; from < TASKS; from += 1000) {
          await redis.rpush('bench', ...Array.from({ length: 1000 }, () => payload));
        }
      };
      await fill();
      const run = async (): Promise<Outcome> => {
        await Promise.all(
          Array.from({ length: concurrency }, async () => {
            while ((await redis.lpop('bench')) !== null);
          }),
        );
        return { operations: TASKS };
      };
      return refilled(run, fill);
    },
  };
}

/** The first run is the warm-up; it leaves a full queue for the one that is measured. */
function refilled(run: () => Promise<Outcome>, fill: () => Promise<unknown>): Work {
  let runs = 0;
  return {
    run: async () => {
      const outcome = await run();
      runs += 1;
      if (runs === 1) await fill();
      return outcome;
    },
    close: () => Promise.resolve(),
  };
}

export const queues: readonly Scenario[] = [
  {
    name: 'queues.enqueue',
    title: 'Queues: enqueue, 100 concurrent callers',
    operation: 'one task of 100 bytes stored',
    competitors: [enqueuing(MINE, '0.1', 100, mine), enqueuing('RPUSH, nothing else', '', 100, bareList)],
  },
  ...[1, 10, 100].map((concurrency) => ({
    name: `queues.drain-${String(concurrency).padStart(3, '0')}`,
    title: `Queues: drain, concurrency ${concurrency}`,
    operation: 'one task of 100 bytes taken, run and settled',
    competitors: [draining(concurrency), poppingBare(concurrency)],
  })),
];
