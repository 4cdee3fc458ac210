/** One run: queues, worker processes, a producer, what is done to them, and the account of every task at the end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { QueueOptions } from '@mortise/queues';
import { Queue } from '@mortise/queues';
import { until } from '../until.js';
import type { Cluster, Redis } from 'ioredis';
import { connectTo } from '../connect.js';
import { nowUs } from '../locks/clock.js';
import type { RedisAddress } from '../locks/config.js';
import type { Account, Evidence, Fault } from './accountant.js';
import { account } from './accountant.js';
import type { WorkerConfig } from './config.js';
import { Executions } from './executions.js';
import { Fleet } from './fleet.js';
import type { PlannedTask } from './producer.js';
import { Producer } from './producer.js';
import { Stored } from './stored.js';
import { taskId } from './task-ids.js';

export interface QueueRunOptions {
  readonly prefix: string;
  /** How many there are going to be. */
  readonly tasks: number;
  /** Each task lies in one of them, by its number. Default: one named `q`. */
  readonly queues?: readonly string[];
  readonly queueOptions?: (name: string) => Pick<QueueOptions, 'shards' | 'keepCancelled'>;
  /** Default: a task named `work`. */
  readonly plan?: (task: number) => PlannedTask;
  readonly workers?: WorkerConfig['options'];
  readonly chunk?: number;
  readonly pauseMs?: number;
  /** See `Producer`. */
  readonly confirm?: (redis: Redis | Cluster) => Promise<boolean>;
}

const TIMEOUT_MS = 60_000;
const REPLICATION_LAG_US = 500_000;
const work = (): PlannedTask => ({ name: 'work', payload: null });

export class QueueRun {
  readonly redis: Redis | Cluster;
  readonly queues: readonly Queue[];
  readonly fleet: Fleet;
  readonly producer: Producer;
  /** When `cancel` was called for a task that it has cancelled, µs; 0 for all others. */
  readonly cancelledAt: Float64Array;
  readonly leaseMs: number;
  readonly #faults: Fault[] = [];
  readonly #options: QueueRunOptions;

  constructor(address: RedisAddress, options: QueueRunOptions) {
    const { prefix, tasks, queues: names = ['q'], queueOptions, workers, confirm } = options;
    this.#options = options;
    this.redis = connectTo(address);
    this.queues = names.map((name) => new Queue(this.redis, name, { prefix, ...queueOptions?.(name) }));
    this.leaseMs = workers?.leaseMs ?? 1_000;
    this.cancelledAt = new Float64Array(tasks);
    this.fleet = new Fleet({
      redis: address,
      queues: names,
      options: {
        prefix,
        leaseMs: this.leaseMs,
        concurrency: 50,
        fairness: 'rotate',
        keepSucceeded: tasks,
        keepDead: tasks + 1,
        ...workers,
      },
    });
    const { plan = work, chunk = 100, pauseMs = 0 } = options;
    this.producer = new Producer({
      tasks,
      queueOf: (task) => this.queueOf(task),
      // Only tasks that are planned to die may run out of attempts.
      plan: (task) => {
        const planned = plan(task);
        return { ...planned, options: { attempts: 1_000, ...planned.options } };
      },
      chunk,
      pauseMs,
      ...(confirm && { confirm: () => confirm(this.redis) }),
    });
  }

  queueOf(task: number): Queue {
    return this.queues[task % this.queues.length]!;
  }

  async cancel(task: number): Promise<void> {
    const askedAt = nowUs();
    if (await this.queueOf(task).cancel(taskId(task))) this.cancelledAt[task] = askedAt;
  }

  /**
   * Notes that something is done to Redis or the network while `action` runs. `mayForget`: what was accepted meanwhile, or in
   * the moment before it, may be gone, because replication is asynchronous. A function is asked when `action` is over.
   */
  async during<Result>(
    action: () => Promise<Result> | Result,
    { mayForget = false }: { mayForget?: boolean | (() => boolean) } = {},
  ): Promise<Result> {
    const startedAt = nowUs();
    try {
      return await action();
    } finally {
      const forgets = typeof mayForget === 'function' ? mayForget() : mayForget;
      const from = startedAt - (forgets ? REPLICATION_LAG_US : 0);
      this.#faults.push({ from, to: nowUs(), mayForget: forgets });
    }
  }

  /** Notes a fault that is known only afterwards. */
  noted(fault: Fault): void {
    this.#faults.push(fault);
  }

  /**
   * Enqueues one task after the other until `action` is over. Returns how many were accepted. When `action` fails, its error is
   * thrown at once: a state that it left, such as a slot that is half moved, may never accept a task again.
   */
  async whileProducing(action: () => Promise<unknown>): Promise<number> {
    const producing = this.producer.run();
    try {
      await action();
    } catch (error) {
      this.producer.abandon();
      await Promise.allSettled([endsInTime('the last enqueue', producing)]);
      throw error;
    }
    this.producer.stop();
    await endsInTime('the last enqueue', producing);
    return this.producer.accepted;
  }

  /** Waits until the workers have done so many executions more. */
  async movesOn(executions = 100): Promise<void> {
    const before = this.fleet.records;
    await until(
      `${executions} executions more`,
      () => this.fleet.records >= before + 2 * executions,
      TIMEOUT_MS,
    );
  }

  /** How many tasks have not ended yet. */
  async left(): Promise<number> {
    const all = await Promise.all(this.queues.map((queue) => queue.counts()));
    return all.reduce(
      (sum, { scheduled, ready, active, retrying, waiting }) =>
        sum + scheduled + ready + active + retrying + waiting,
      0,
    );
  }

  /**
   * Waits until all has ended, or for `withinMs`: what is still there then is accounted for as well. Then stops the workers, so
   * that nothing moves any more.
   */
  async verdict({
    withinMs = TIMEOUT_MS,
    mayBeRemoved = false,
    ...more
  }: { withinMs?: number; mayBeRemoved?: boolean } & Pick<
    Evidence,
    'endOf' | 'groups'
  > = {}): Promise<Account> {
    await until('all tasks to end', async () => (await this.left()) === 0, withinMs).catch(() => undefined);
    const readAt = Date.now();
    await this.fleet.kill();
    const { tasks } = this.#options;
    const stored = await Stored.read(this.queues, tasks);
    return account({
      tasks,
      executions: Executions.read(this.fleet.sources),
      stored,
      acceptedAt: this.producer.acceptedAt,
      cancelledAt: this.cancelledAt,
      faults: this.#faults,
      leaseMs: this.leaseMs,
      readAt,
      mayBeRemoved,
      ...more,
    });
  }

  async dispose(): Promise<void> {
    this.producer.abandon();
    await this.fleet.dispose();
    this.redis.disconnect();
  }
}

/** A promise of what is tested may never settle; then the test has to say which. */
async function endsInTime(what: string, promise: Promise<unknown>): Promise<void> {
  const clock = new AbortController();
  const late = async (): Promise<never> => {
    await pause(TIMEOUT_MS, undefined, { signal: clock.signal });
    throw new Error(`${what} has not ended within ${TIMEOUT_MS} ms`);
  };
  const isLate = late();
  isLate.catch(() => undefined);
  try {
    await Promise.race([promise, isLate]);
  } finally {
    clock.abort();
  }
}
