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
 *   stopped ──start──► running ──stop──► stopping ──all is acked, or no time left──► stopped
 *
 * `pause` and `resume` say whether a running worker fetches tasks; before `start` they are for the next run.
 *
 * Leases are renewed by the thread that runs the handlers. If a handler blocks it for longer than the lease, other workers
 * get the tasks of this one; this is reported, and its completions no longer count.
 */
import type { OwnedClient, RedisClient } from '@mortise/redis';
import {
  ArgumentTypeError,
  ErrorReporter,
  ownedClient,
  reportUnreachable,
  requireDuration,
  requireName,
  requireOptions,
} from '@mortise/redis';
import { randomUUID } from 'node:crypto';
import type { ResolvedWorkerOptions, WorkerOptions } from '../options.js';
import { DEFAULTS, resolveWorkerOptions } from '../options.js';
import { Schemas } from '../task/schemas.js';
import type { TaskMap } from '../task/task.js';
import { Executor } from './executor.js';
import { resolveFairness } from './fair-picker.js';
import type { Handlers, ResolvedHandler } from './handlers.js';
import { handlerOf, resolveHandlers } from './handlers.js';
import { ServedShards } from './served-shards.js';
import { WorkerPresence } from './worker-presence.js';
import { WorkerTelemetry } from './worker-telemetry.js';

/** How long `stop` waits for Redis to accept the last completions. */
const LAST_ACKS_MS = 2_000;
const STOP_OPTIONS = new Set(['graceMs']);

export class Worker<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly id: string = randomUUID();
  readonly #client: OwnedClient;
  readonly #queues: readonly string[];
  readonly #options: ResolvedWorkerOptions;
  readonly #weights: ReadonlyMap<string, number> | undefined;
  readonly #reporter: ErrorReporter;
  readonly #handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly #schemas: Schemas | undefined;
  readonly #telemetry: WorkerTelemetry | undefined;
  /** Each `start` creates the three. */
  #executor: Executor | undefined;
  #shards: ServedShards | undefined;
  #presence: WorkerPresence | undefined;
  #state: 'stopped' | 'running' | 'stopping' = 'stopped';
  /** Of a running worker, or of the next start. */
  #isPaused = false;
  #stopping: Promise<void> | undefined;
  /** Whether the last of `start` and `stop` was `start`: the end of a stop may be awaited by both. */
  #mayStart = false;
  #cancelReport = (): void => undefined;

  /**
   * @param given An ioredis client, used as it is and never closed; or the URL of a single node, for a client that `stop` closes.
   * @param queues Names of queues, most urgent first; `fairness` says how they share the slots.
   * @param handlers One for each task name. A task without a handler goes back for other workers, see `unknownAfterMs`.
   */
  constructor(
    given: RedisClient | string,
    queues: readonly string[],
    handlers: Handlers<Tasks>,
    options: WorkerOptions<Tasks> = {},
  ) {
    this.#client = ownedClient(given);
    const { redis } = this.#client;
    if (!Array.isArray(queues) || queues.length === 0 || new Set(queues).size !== queues.length) {
      throw new ArgumentTypeError("queues must be a list of one or more different names, as ['mail']");
    }
    this.#queues = queues.map((queue: string) => requireName('queue', queue));
    this.#options = resolveWorkerOptions(options);
    this.#weights = resolveFairness(options.fairness, queues);
    this.#telemetry = options.telemetry === undefined ? undefined : new WorkerTelemetry(options.telemetry);
    const reporter = new ErrorReporter('mortise worker', this.#options.onError, redis);
    const counting = this.#telemetry?.counting((error) => reporter.report(error));
    this.#reporter = counting ? new ErrorReporter('mortise worker', counting, redis) : reporter;
    this.#schemas = options.schemas === undefined ? undefined : new Schemas(options.schemas);
    this.#handlers = resolveHandlers(handlers, this.#options.concurrency);
  }

  /** True from `start` to `stop`, also while paused. */
  get isRunning(): boolean {
    return this.#state === 'running';
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Number of tasks whose handlers run now. */
  get running(): number {
    return this.#executor?.running ?? 0;
  }

  /**
   * The longest time, ms, for which a queue or shard got no reply or error of Redis while a slot was free. Use it for a
   * liveness probe. An idle worker stays below 5 s. The value is 0 while the worker is stopped, paused or full. It rises in an
   * outage if the client keeps commands until Redis is back, so check with a PING of your own that Redis answers.
   */
  get silentMs(): number {
    return this.#shards && this.#executor!.free > 0 ? this.#shards.silentMs : 0;
  }

  /**
   * Begins to run tasks; after `stop` it begins again. The call does not wait for Redis: without a connection the worker
   * retries with a backoff, and `onError` gets ERR_REDIS_UNREACHABLE after 5 s. Idempotent. Waits for a running `stop`; a later
   * `stop` cancels it.
   */
  async start(): Promise<void> {
    this.#mayStart = true;
    while (this.#stopping) await this.#stopping;
    if (this.#state === 'running' || !this.#mayStart) return;
    this.#state = 'running';
    this.#client.reopen();
    const { redis } = this.#client;
    const executor = new Executor({
      options: this.#options,
      handlers: this.#handlers,
      queues: this.#queues,
      weights: this.#weights,
      schemas: this.#schemas,
      telemetry: this.#telemetry,
      reporter: this.#reporter,
    });
    this.#executor = executor;
    this.#shards = new ServedShards(redis, this.#queues, {
      workerId: this.id,
      options: this.#options,
      executor,
      reporter: this.#reporter,
      handledIn: (queue) =>
        [...this.#handlers.keys()].filter((name) => handlerOf(this.#handlers, { name, queue })),
    });
    executor.start();
    this.#shards.start();
    this.#presence = new WorkerPresence(redis, this.#options.prefix, this.id, this.#reporter);
    this.#presence.start();
    this.#cancelReport = reportUnreachable(redis, this.#reporter);
    if (this.#isPaused) this.pause();
  }

  /**
   * Fetches no tasks until `resume`. Running tasks go on. The tasks of a fetch that is under way still run, unless prefetched
   * tasks went back. A task that is handed off to this worker meanwhile goes back. Other workers go on (see `Queue.pause`).
   * Idempotent, legal before `start`.
   */
  pause(): void {
    this.#isPaused = true;
    this.#executor?.pause();
    this.#shards?.pause();
  }

  /** Fetches tasks again. Idempotent. */
  resume(): void {
    this.#isPaused = false;
    this.#executor?.resume();
    this.#shards?.resume();
  }

  /**
   * Fetches no more tasks, and waits up to `graceMs` (default 10,000) for running ones. Then it aborts their signals and gives
   * the tasks back: other workers can fetch them at once, and the attempt does not count. Tasks that have not started go back
   * at once. Idempotent, legal before `start`. The call takes at most 2 s more than `graceMs`, even if Redis cannot be reached;
   * then leases expire instead.
   */
  stop(options: { graceMs?: number | undefined } = {}): Promise<void> {
    requireOptions('stop', options, STOP_OPTIONS);
    const { graceMs = DEFAULTS.graceMs } = options;
    requireDuration('graceMs', graceMs, { min: 0, max: Infinity });
    this.#mayStart = false;
    if (this.#state === 'running') {
      this.#state = 'stopping';
      this.#stopping = this.#stop(graceMs).finally(() => {
        this.#state = 'stopped';
        this.#stopping = undefined;
      });
    }
    return this.#stopping ?? Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    this.#cancelReport();
    this.#shards!.leave();
    await this.#executor!.stop(graceMs);
    await Promise.all([this.#shards!.stop(LAST_ACKS_MS), this.#presence!.stop(LAST_ACKS_MS)]);
    this.#shards = undefined;
    // All is acked, or the time is over.
    await this.#client.close(0);
  }
}
