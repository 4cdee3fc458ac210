/**
 * Runs tasks of one or more queues. At least once: a task is run again when its worker died, when its lease was lost, or when
 * the reply to its completion was lost; a handler has to be safe to repeat, and can use `ctx.id` for that.
 *
 * A task that was taken stands in a slot until its attempt has ended. Those of names with a limit of their own stand in a line
 * before that, outside the slots, and those of a batch in a line within them; see line.ts. Where handlers are quick, a few more
 * are taken than there are slots; see ahead.ts. Leases are renewed by the thread that runs the handlers: one that blocks it for
 * longer than the lease loses the tasks of this worker to others, which is reported, and its completion no longer counts.
 */
import type { RedisClient } from '@mortise/redis';
import {
  ArgumentTypeError,
  requireClient,
  requireDuration,
  requireName,
  requireOptions,
} from '@mortise/redis';
import { v7 as uuidv7 } from 'uuid';
import { Ahead } from './ahead.js';
import type { Taken } from './attempt.js';
import { Attempt } from './attempt.js';
import { Consumer } from './consumer.js';
import type { Reserved, Slots } from './slots.js';
import { NOTHING } from './slots.js';
import { AttemptError } from '../errors.js';
import { FairShares } from './fairness.js';
import type { Handlers, ResolvedHandler } from './handlers.js';
import { resolveHandlers } from './handlers.js';
import { Line } from './line.js';
import type { ResolvedWorkerOptions, WorkerOptions } from '../options.js';
import { DEFAULTS, resolveFairness, resolveWorkerOptions } from '../options.js';
import { Reporter } from './reporter.js';
import { Runner } from './runner.js';
import { Schemas } from '../task/schemas.js';
import { died, GIVEN_BACK } from './completion.js';
import { Shard } from '../shard/shard.js';
import type { TaskMap } from '../task/task.js';
import { WorkerTelemetry } from './worker-telemetry.js';

/** How long `stop` waits for Redis to take the last acks. */
const FAREWELL_MS = 2_000;
const STOP_OPTIONS = new Set(['graceMs']);

export class Worker<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly id = uuidv7();
  readonly #redis: RedisClient;
  readonly #options: ResolvedWorkerOptions;
  readonly #reporter: Reporter;
  readonly #handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly #lines = new Map<ResolvedHandler, Line>();
  readonly #ahead: Ahead;
  /** One for each shard of each queue. */
  readonly #consumers: Consumer[] = [];
  readonly #shares: FairShares<Consumer>;
  readonly #isAlone: boolean;
  readonly #runner: Runner;
  readonly #processing: WorkerTelemetry | undefined;
  readonly #slots: Slots;
  #reserved = 0;
  /** `closed`: whatever Redis still hands out is given back. */
  #state: 'new' | 'running' | 'stopping' | 'closed' = 'new';
  #isPaused = false;
  #stopped: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  /**
   * @param redis A client of ioredis. It is used as it is and never closed.
   * @param queues Names, the most urgent one first; how they share the slots is told by `fairness`.
   * @param handlers By name of task. A task that has none here is set aside among the dead tasks and reported.
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
    this.#options = resolveWorkerOptions(options);
    if (options.telemetry !== undefined) {
      this.#processing = new WorkerTelemetry(options.telemetry);
      this.#options = { ...this.#options, onError: this.#processing.counting(this.#options.onError) };
    }
    this.#reporter = new Reporter(redis, this.#options.onError);
    this.#runner = new Runner({
      backoff: this.#options.backoff,
      reporter: this.#reporter,
      schemas: options.schemas && new Schemas(options.schemas),
      processing: this.#processing,
      onRan: (ms) => this.#ahead.ran(ms),
      onEnded: () => {
        this.#beginNext();
        this.#offer();
      },
    });
    this.#ahead = new Ahead((attempt) => this.#runner.giveBack(attempt));
    this.#handlers = resolveHandlers(handlers, this.#options.concurrency);
    for (const handler of this.#handlers.values()) {
      if (handler.maxCalls === Infinity && !handler.handleMany) continue;
      this.#lines.set(handler, new Line(handler, (attempts) => this.#beginCall(handler, attempts)));
    }
    this.#isAlone = queues.length === 1;
    this.#shares = new FairShares(queues, resolveFairness(options.fairness, queues));
    this.#slots = {
      round: () => this.#ahead.round,
      reserve: (...asked) => this.#reserve(...asked),
      answered: (...answer) => this.#ahead.answered(...answer),
      fill: (...filling) => this.#fill(...filling),
      adapt: (consumer) => this.#adapt(consumer),
    };
    for (const queue of queues) this.#addConsumer(requireName('queue', queue), 0);
  }

  /** From `start` to `stop`, also while it is paused. */
  get isRunning(): boolean {
    return this.#state === 'running';
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Tasks whose handlers run now. */
  get running(): number {
    return this.#runner.size;
  }

  /**
   * Begins to take tasks. Does not wait for Redis: while it is away, the worker tries again with a backoff. Rejects
   * with TypeError after `stop`.
   */
  async start(): Promise<void> {
    if (this.#state === 'running') return;
    if (this.#state !== 'new') throw new TypeError('a stopped worker cannot be started again');
    this.#state = 'running';
    for (const consumer of this.#consumers) consumer.start();
  }

  /**
   * Takes no more tasks until `resume`; those that run go on, and so does what is on its way. Other workers of the queues are
   * not concerned (see `Queue.pause`). Idempotent, legal before `start`.
   */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#ahead.giveBack();
    if (this.#state === 'running') for (const consumer of this.#consumers) consumer.pause();
  }

  /** Takes tasks again. Idempotent. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#state === 'running') for (const consumer of this.#consumers) consumer.resume();
  }

  /**
   * Takes no more tasks, waits up to `graceMs` (default 10,000) for those that run, then aborts their signals and gives
   * them back: another worker has them at once, and the attempt does not count. Those that wait for their turn or for their
   * batch to fill go back at once. Idempotent, legal before `start`. Ends at most 2 s after `graceMs`, also when Redis cannot
   * be reached; then leases will end instead.
   */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    requireOptions('stop', options, STOP_OPTIONS);
    const { graceMs = DEFAULTS.graceMs } = options;
    requireDuration('graceMs', graceMs, { min: 0, max: Infinity });
    this.#stopped ??= this.#stop(graceMs);
    return this.#stopped;
  }

  async #stop(graceMs: number): Promise<void> {
    const wasRunning = this.#state === 'running';
    this.#state = 'stopping';
    if (!wasRunning) return;
    for (const consumer of this.#consumers) consumer.leave();
    this.#ahead.giveBack();
    for (const line of this.#lines.values())
      for (const attempt of line.clear()) this.#runner.giveBack(attempt);
    await this.#idle(graceMs);
    this.#state = 'closed';
    this.#runner.giveBackAll();
    await Promise.all(this.#consumers.map((consumer) => consumer.stop(FAREWELL_MS)));
  }

  #idle(withinMs: number): Promise<void> {
    if (this.#runner.size === 0 && this.#reserved === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#onIdle?.(), Math.min(withinMs, 2 ** 31 - 1));
      this.#onIdle = () => {
        clearTimeout(timer);
        this.#onIdle = undefined;
        resolve();
      };
    });
  }

  #addConsumer(queue: string, index: number): Consumer {
    const shard = new Shard(this.#redis, queue, this.#options.prefix, index);
    const consumer = new Consumer(shard, this.id, this.#options, this.#slots, this.#isAlone);
    this.#consumers.push(consumer);
    this.#shares.add(consumer);
    return consumer;
  }

  /** How many shards a queue has is known when the first one has answered, or when it is founded after that. */
  #adapt(consumer: Consumer): void {
    const { queue, shard } = consumer;
    if (!this.#mayTakeAhead(consumer)) this.#ahead.giveBack();
    if (shard.index !== 0 || this.#state !== 'running') return;
    const known = this.#consumers.filter((each) => each.queue === queue).length;
    for (let index = known; index < shard.settings.values.shards; index += 1) {
      const added = this.#addConsumer(queue, index);
      added.start();
      if (this.#isPaused) added.pause();
    }
  }

  /**
   * Whether tasks may be taken beyond the free slots: what waits for a slot would count for the limits of the queue and of its
   * groups as if it ran, and would stand in the way of names, shards and queues that have to get their turn.
   */
  #mayTakeAhead({ shard }: Consumer): boolean {
    if (this.#state !== 'running' || this.#isPaused || this.#lines.size > 0 || this.#consumers.length > 1) {
      return false;
    }
    const { concurrency, rate, groupConcurrency, groupRate, isOrdered } = shard.settings.values;
    const limits = [concurrency, rate, groupConcurrency, groupRate];
    return !isOrdered && limits.every((limit) => limit === undefined);
  }

  #reserve(consumer: Consumer, most: number, mayWait: boolean): Reserved {
    if (this.#state !== 'running' || this.#isPaused) return NOTHING;
    let free = this.#options.concurrency - this.#runner.size - this.#reserved;
    for (const line of this.#lines.values()) free -= line.slots;
    // What waits already, and what was reserved for such, stands below zero.
    const places = mayWait && this.#mayTakeAhead(consumer) ? this.#ahead.places : 0;
    const room = free + places - this.#ahead.size;
    if (room <= 0) return NOTHING;
    const want = Math.min(most, this.#shares.share(consumer, room));
    this.#shares.charge(consumer, want);
    this.#reserved += want;
    return { want, slots: Math.min(want, Math.max(0, free)), round: this.#ahead.round };
  }

  #fill(
    consumer: Consumer,
    reserved: number,
    taken: readonly Taken[],
    leaseEndsAt: number,
    nowMs: number,
  ): void {
    this.#reserved -= reserved;
    if (this.#processing && taken.length > 0) this.#processing.heard(consumer, nowMs);
    if (reserved > taken.length) this.#shares.charge(consumer, taken.length - reserved);
    for (const task of taken) {
      // Asked for each: handlers that hold up the thread may use up the lease of those behind them.
      const isVoid = this.#state === 'closed' || performance.now() >= leaseEndsAt;
      if (isVoid) consumer.settle(task, GIVEN_BACK);
      else this.#accept(consumer, task, leaseEndsAt, nowMs);
    }
    this.#offer();
  }

  #accept(consumer: Consumer, task: Taken, leaseEndsAt: number, nowMs: number): void {
    let attempt: Attempt;
    try {
      attempt = new Attempt(consumer, task, leaseEndsAt);
    } catch (error) {
      this.#reporter.tell(error);
      consumer.settle(task, died(error));
      return;
    }
    const { enqueuedAt, extras } = attempt.record;
    // What is tried again has been started in time; that this fails is for its attempts to say.
    if (extras.expiresInMs !== undefined && attempt.attempt === 1) {
      attempt.expiresAt = performance.now() + enqueuedAt + extras.expiresInMs - nowMs;
      if (this.#isExpired(attempt)) return;
    }
    const handler = this.#handlers.get(attempt.name);
    const line = handler && this.#lines.size > 0 ? this.#lines.get(handler) : undefined;
    if (!line) {
      consumer.leases.add(attempt);
      if (this.#hasSlot) void this.#runner.run(attempt, handler);
      else if (!this.#mayTakeAhead(consumer) || !this.#ahead.add(attempt)) this.#runner.giveBack(attempt);
    } else if (this.#state !== 'running') {
      consumer.settle(task, GIVEN_BACK);
    } else {
      consumer.leases.add(attempt);
      if (line.add(attempt)) return;
      consumer.leases.delete(attempt);
      consumer.settle(task, { verdict: 'L', delayMs: line.delayMs(), data: '' });
    }
  }

  #isExpired(attempt: Attempt): boolean {
    if (performance.now() < attempt.expiresAt) return false;
    const { consumer, queue, id, record, taken } = attempt;
    attempt.isOver = true;
    this.#processing?.expired(attempt, this.#handlers.has(attempt.name));
    consumer.leases.delete(attempt);
    consumer.settle(taken, died(new AttemptError('ERR_TASK_EXPIRED', queue, id, record.extras.expiresInMs)));
    return true;
  }

  get #hasSlot(): boolean {
    return this.#runner.size < this.#options.concurrency;
  }

  /** Slots are free for tasks that were taken ahead, but for those that have lost their lease by now. */
  #beginNext(): void {
    while (this.#ahead.size > 0 && this.#hasSlot) {
      const attempt = this.#ahead.next()!;
      if (attempt.isOver || this.#isExpired(attempt)) continue;
      // A handler that has held up the thread for so long has held up the timers, too.
      if (performance.now() >= attempt.leaseEndsAt) this.#runner.giveBack(attempt);
      else void this.#runner.run(attempt, this.#handlers.get(attempt.name));
    }
  }

  /** Begins a call for tasks that have stood in a line. */
  #beginCall(handler: ResolvedHandler, waiting: readonly Attempt[]): void {
    const attempts = waiting.filter((attempt) => !attempt.isOver && !this.#isExpired(attempt));
    let left = attempts.length;
    const onEnded = (): void => {
      left -= 1;
      if (left <= 0) this.#lines.get(handler)!.ended();
    };
    for (const attempt of attempts) attempt.onEnded = onEnded;
    if (left === 0) onEnded();
    else if (handler.handleMany) void this.#runner.runMany(attempts, handler);
    else void this.#runner.run(attempts[0]!, handler);
    // Those that were left out held slots.
    if (attempts.length < waiting.length) this.#offer();
  }

  /** Something has changed about the slots. */
  #offer(): void {
    for (const consumer of this.#consumers) if (consumer.isHungry) consumer.schedule();
    if (this.#runner.size === 0 && this.#reserved === 0) this.#onIdle?.();
  }
}
