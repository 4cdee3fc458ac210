/**
 * Runs tasks of one or more queues. At least once: a task runs again if its worker died, its lease was lost, or the
 * completion was lost. A handler must be safe to repeat, and can use `ctx.id` for that.
 *
 * A worker is five services. The fetcher of each shard fetches tasks and acks completions in one call; the executor runs
 * handlers; the completer collects completions; the heartbeater renews leases; the maintainer does the housekeeping. Values
 * pass between them over two queues, in one direction:
 *
 *   Redis ──► fetcher ──fetched tasks──► executor ──completions──► completer ──► the fetcher's next call
 *
 * Leases are renewed by the thread that runs the handlers. If a handler blocks it for longer than the lease, other workers
 * get the tasks of this one; this is reported, and its completions no longer count.
 */
import type { RedisClient } from '@mortise/redis';
import {
  ArgumentTypeError,
  ErrorReporter,
  requireClient,
  requireDuration,
  requireName,
  requireOptions,
} from '@mortise/redis';
import { v7 as uuidv7 } from 'uuid';
import { taskLeaseLost } from '../errors.js';
import type { ResolvedWorkerOptions, WorkerOptions } from '../options.js';
import { DEFAULTS, resolveFairness, resolveWorkerOptions } from '../options.js';
import { Shard } from '../shard/shard.js';
import { Schemas } from '../task/schemas.js';
import { decodeTaskId } from '../task/task-id.js';
import type { TaskMap } from '../task/task.js';
import type { Source } from './attempt.js';
import { Completer } from './completer.js';
import type { SlotRoom } from './executor.js';
import { Executor } from './executor.js';
import { Fetcher } from './fetcher.js';
import type { Handlers, ResolvedHandler } from './handlers.js';
import { resolveHandlers } from './handlers.js';
import { Heartbeater } from './heartbeater.js';
import { Maintainer } from './maintainer.js';
import { WakeUps } from './wake-ups.js';
import { WorkerTelemetry } from './worker-telemetry.js';

/** How long `stop` waits for Redis to accept the last completions. */
const LAST_ACKS_MS = 2_000;
/** Calls of one fetcher under way at the same time. */
const MAX_IN_FLIGHT = 2;
/** An idle worker rechecks after this time or 0.4 leases, before the errors that the recheck repairs take effect. */
const MAX_RECHECK_MS = 4_000;
const WAKE_ID = 'w';
const STOP_OPTIONS = new Set(['graceMs']);

/** The services of a worker for one shard. */
interface ShardServices extends Source {
  readonly fetcher: Fetcher<SlotRoom>;
  readonly maintainer: Maintainer;
  readonly wakeUps: WakeUps;
}

export class Worker<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly id = uuidv7();
  readonly #redis: RedisClient;
  readonly #queues: readonly string[];
  readonly #options: ResolvedWorkerOptions;
  readonly #weights: ReadonlyMap<string, number> | undefined;
  readonly #reporter: ErrorReporter;
  readonly #handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly #schemas: Schemas | undefined;
  readonly #telemetry: WorkerTelemetry | undefined;
  /** Each `start` creates both. */
  #executor: Executor | undefined;
  #shards: ShardServices[] = [];
  #isRunning = false;
  #isPaused = false;
  #stopping: Promise<void> | undefined;

  /**
   * @param redis An ioredis client, used as it is and never closed.
   * @param queues Names of queues, most urgent first; `fairness` says how they share the slots.
   * @param handlers One for each task name. A task without a handler is dead-lettered and reported.
   */
  constructor(
    redis: RedisClient,
    queues: readonly string[],
    handlers: Handlers<Tasks>,
    options: WorkerOptions<Tasks> = {},
  ) {
    this.#redis = requireClient(redis);
    if (!Array.isArray(queues) || queues.length === 0 || new Set(queues).size !== queues.length) {
      throw new ArgumentTypeError('queues must be one or more different names');
    }
    this.#queues = queues.map((queue: string) => requireName('queue', queue));
    this.#options = resolveWorkerOptions(options);
    this.#weights = resolveFairness(options.fairness, queues);
    this.#telemetry = options.telemetry === undefined ? undefined : new WorkerTelemetry(options.telemetry);
    const reporter = new ErrorReporter('mortise worker', this.#options.onError, redis);
    const counting = this.#telemetry?.counting((error) => reporter.report(error));
    this.#reporter = counting ? new ErrorReporter('mortise worker', counting, redis) : reporter;
    this.#schemas = options.schemas && new Schemas(options.schemas);
    this.#handlers = resolveHandlers(handlers, this.#options.concurrency);
  }

  /** True from `start` to `stop`, also while paused. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Number of tasks whose handlers run now. */
  get running(): number {
    return this.#executor?.running ?? 0;
  }

  /**
   * Begins to run tasks, again after `stop`. Does not wait for Redis: while it is away, the worker retries with a backoff.
   * Idempotent. Waits for a running `stop`.
   */
  async start(): Promise<void> {
    while (this.#stopping) await this.#stopping;
    if (this.#isRunning) return;
    this.#isRunning = true;
    const executor = new Executor({
      options: this.#options,
      handlers: this.#handlers,
      queues: this.#queues,
      weights: this.#weights,
      schemas: this.#schemas,
      telemetry: this.#telemetry,
      reporter: this.#reporter,
      onRoom: () => {
        for (const { fetcher } of this.#shards) fetcher.offer();
      },
      onSettings: ({ shard }) => this.#addShards(shard),
    });
    this.#executor = executor;
    executor.start();
    if (this.#isPaused) executor.pause();
    for (const queue of this.#queues) this.#addShard(executor, queue, 0);
    for (const services of this.#shards) this.#startShard(services);
  }

  /**
   * Fetches no tasks until `resume`; running tasks, and those under way to this worker, still run. Other workers go on (see
   * `Queue.pause`). Idempotent, legal before `start`.
   */
  pause(): void {
    this.#isPaused = true;
    this.#executor?.pause();
    for (const { fetcher } of this.#shards) fetcher.pause();
  }

  /** Fetches tasks again. Idempotent. */
  resume(): void {
    this.#isPaused = false;
    this.#executor?.resume();
    for (const { fetcher } of this.#shards) fetcher.resume();
  }

  /**
   * Fetches no more tasks, waits up to `graceMs` (default 10,000) for running ones, then aborts their signals and gives
   * them back: other workers can have them at once, and the attempt does not count. Tasks that have not started go back at
   * once. Idempotent, legal before `start`. Ends at most 2 s after `graceMs`, even if Redis cannot be reached; then leases
   * expire instead.
   */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    requireOptions('stop', options, STOP_OPTIONS);
    const { graceMs = DEFAULTS.graceMs } = options;
    requireDuration('graceMs', graceMs, { min: 0, max: Infinity });
    if (this.#isRunning && !this.#stopping) {
      this.#stopping = this.#stop(graceMs).finally(() => {
        this.#stopping = undefined;
      });
    }
    return this.#stopping ?? Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    this.#isRunning = false;
    for (const { fetcher } of this.#shards) fetcher.leave();
    await this.#executor!.stop(graceMs);
    await Promise.all(this.#shards.map((services) => this.#stopShard(services)));
    this.#shards = [];
  }

  #addShard(executor: Executor, queue: string, index: number): ShardServices {
    const { leaseMs, prefix } = this.#options;
    const shard = new Shard(this.#redis, queue, prefix, index);
    const reporter = this.#reporter;
    const completer = new Completer((id) => reporter.report(taskLeaseLost(queue, decodeTaskId(id))));
    const heartbeater = new Heartbeater(shard, this.id, leaseMs, reporter);
    const maintainer = new Maintainer(shard, this.#options, reporter, () => fetcher.wake());
    const fetcher = new Fetcher<SlotRoom>({
      shard,
      workerId: this.id,
      retention: this.#options,
      recheckMs: Math.min(MAX_RECHECK_MS, Math.max(1_000, Math.round(0.4 * leaseMs))),
      maxInFlight: MAX_IN_FLIGHT,
      handOffMs: leaseMs,
      // Otherwise a task of another queue or shard may have to go first.
      mayHandOff: () => this.#queues.length === 1 && shard.settings.values.shards === 1,
      demand: executor,
      completer,
      maintainer,
      reporter,
    });
    const wakeUps = new WakeUps(this.#redis, shard.keys.wakeChannel(this.id), WAKE_ID, reporter, (wake) => {
      fetcher.wake();
      if (wake?.type === 'message' && wake.body.length > 0) fetcher.handOff(wake.body);
    });
    const services = { shard, completer, heartbeater, maintainer, fetcher, wakeUps };
    this.#shards.push(services);
    executor.add(fetcher, services);
    return services;
  }

  /** The number of shards is known from the first reply, or when the queue is created. */
  #addShards({ queue, index, settings }: Shard): void {
    if (index !== 0 || !this.#isRunning) return;
    const known = this.#shards.filter(({ shard }) => shard.queue === queue).length;
    for (let next = known; next < settings.values.shards; next += 1) {
      this.#startShard(this.#addShard(this.#executor!, queue, next));
    }
  }

  #startShard({ heartbeater, maintainer, wakeUps, fetcher }: ShardServices): void {
    heartbeater.start();
    wakeUps.start();
    // Before the fetcher, since tasks of a dead worker come before ready ones.
    maintainer.start();
    fetcher.start();
    if (this.#isPaused) fetcher.pause();
  }

  async #stopShard({ heartbeater, maintainer, wakeUps, fetcher }: ShardServices): Promise<void> {
    const deadline = performance.now() + LAST_ACKS_MS;
    await fetcher.stop(LAST_ACKS_MS);
    await maintainer.stop(Math.max(0, deadline - performance.now()));
    await Promise.all([wakeUps.stop(), heartbeater.stop()]);
  }
}
