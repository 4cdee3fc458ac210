/** Runs the tasks of queues in memory to their end, with the real worker. */
import type { MemoryRedis } from '@mortise/redis/testing';
import { Queue } from '../queue.js';
import type { WorkerOptions } from '../options.js';
import type { TaskMap } from '../task/task.js';
import type { Handlers } from '../work/handlers.js';
import { Worker } from '../work/worker.js';

export interface DrainQueuesOptions<Tasks> extends WorkerOptions<Tasks> {
  /**
   * Moves the clock to the next timer as long as tasks are scheduled or retrying. Default false: only tasks that are due now
   * run.
   */
  readonly delayed?: boolean | undefined;
}

/** An attempt that `drain` ran. */
export interface DrainedAttempt {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Real time: how long a handler may take before the test fails with a message instead of its timeout. */
const LIMIT_MS = 4_000;
const { setTimeout: later, clearTimeout: cancel } = globalThis;

/** See `TestQueues.drain`. */
export async function drain<Tasks extends TaskMap<Tasks>>(
  redis: MemoryRedis,
  names: readonly string[],
  handlers: Handlers<Tasks>,
  { delayed = false, ...options }: DrainQueuesOptions<Tasks> = {},
): Promise<DrainedAttempt[]> {
  const run = new Run();
  const observed = withEnds(handlers, () => run.wake());
  const worker = new Worker<Tasks>(redis, names, observed, { ...options, ...run.callbacks(options) });
  const queues = names.map((name) => new Queue<Tasks>(redis, name, { prefix: options.prefix }));
  await worker.start();
  try {
    for (;;) {
      await redis.clock.settle();
      const left = await totals(queues);
      if (left.due > 0) await run.next(left);
      else if (!delayed || left.later === 0 || !(await redis.clock.advanceToNext())) return run.attempts;
    }
  } finally {
    await worker.stop();
  }
}

type Call = (...args: readonly unknown[]) => unknown;

/** Handlers that tell the end of each call. An attempt that sleeps, waits or goes back has no other end that a caller sees. */
function withEnds<Tasks>(handlers: Handlers<Tasks>, onEnd: () => void): Handlers<Tasks> {
  const observed =
    (call: Call): Call =>
    async (...args) => {
      try {
        return await call(...args);
      } finally {
        onEnd();
      }
    };
  const entries = Object.entries(handlers as Record<string, Call | Readonly<Record<string, unknown>>>);
  const all = entries.map(([name, handler]) => {
    if (typeof handler === 'function') return [name, observed(handler)];
    const methods = ['handle', 'handleMany'].flatMap((method) => {
      const call = handler?.[method];
      return typeof call === 'function' ? [[method, observed(call.bind(handler) as Call)]] : [];
    });
    // An instance of a class has its other fields still.
    const isPlain = Object.getPrototypeOf(handler ?? {}) === Object.prototype;
    const copy: unknown = isPlain ? { ...handler } : Object.create(handler);
    return [
      name,
      methods.length === 0 ? handler : Object.assign(copy as object, Object.fromEntries(methods)),
    ];
  });
  return Object.fromEntries(all) as Handlers<Tasks>;
}

interface Totals {
  readonly due: number;
  readonly later: number;
  readonly shown: string;
}

async function totals<Tasks extends TaskMap<Tasks>>(queues: readonly Queue<Tasks>[]): Promise<Totals> {
  const counts = await Promise.all(queues.map((queue) => queue.counts()));
  const sum = (pick: (each: (typeof counts)[number]) => number): number =>
    counts.reduce((total, each) => total + pick(each), 0);
  return {
    due: sum(({ ready, active }) => ready + active),
    later: sum(({ scheduled, retrying }) => scheduled + retrying),
    shown: `${sum(({ ready }) => ready)} ready, ${sum(({ active }) => active)} active`,
  };
}

class Run {
  readonly attempts: DrainedAttempt[] = [];
  /** Whether a call or an attempt has ended since the last look. */
  #isWoken = false;
  #wake: (() => void) | undefined;

  callbacks<Tasks>({
    onSucceeded,
    onFailed,
  }: WorkerOptions<Tasks>): Pick<WorkerOptions, 'onFailed' | 'onSucceeded'> {
    return {
      onSucceeded: (task, result) => {
        const { id, queue, name, attempt } = task;
        this.#add({ id, queue, name, attempt, result });
        return onSucceeded?.(task, result);
      },
      onFailed: (task, error, info) => {
        const { id, queue, name, attempt } = task;
        this.#add({ id, queue, name, attempt, error });
        return onFailed?.(task, error, info);
      },
    };
  }

  /** A call of a handler, or an attempt, has ended. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Resolves when a call or an attempt has ended since the last time. */
  async next({ shown }: Totals): Promise<void> {
    let limit: NodeJS.Timeout | undefined;
    if (!this.#isWoken) {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        const refusal = `drain: no attempt ended within ${LIMIT_MS} ms (${shown}). Is a queue paused or limited, or does a handler wait for the clock?`;
        limit = later(() => reject(new Error(refusal)), LIMIT_MS);
      }).finally(() => cancel(limit));
    }
    this.#isWoken = false;
  }

  #add(attempt: DrainedAttempt): void {
    this.attempts.push(attempt);
    this.wake();
  }
}
