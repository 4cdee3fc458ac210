/**
 * Runs tasks of one or more queues. Queues are served in the order given: a later one only when the earlier ones have
 * nothing. At least once: a task is run again when its worker died, when its lease was lost, or when the reply to its
 * completion was lost; a handler has to be safe to repeat, and can use `ctx.id` for that.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireDuration, requireName } from '@mortise/redis';
import { v7 as uuidv7 } from 'uuid';
import type { Taken, TaskContext } from './attempt.js';
import { Attempt } from './attempt.js';
import { backoffDelayMs } from './backoff.js';
import type { Slots } from './consumer.js';
import { Consumer } from './consumer.js';
import { describeError } from './describe-error.js';
import { Discard, ResultNotKeptError, RetryLater, UnknownTaskError, WorkerStoppedError } from './errors.js';
import type { ResolvedWorkerOptions, WorkerOptions } from './options.js';
import { DEFAULTS, resolveWorkerOptions } from './options.js';
import { Reporter } from './reporter.js';
import type { Settlement } from './settlement.js';
import { died, GIVEN_BACK, SUCCEEDED } from './settlement.js';
import type { TaskMap } from './task.js';

/** What runs a task. Its result is kept with the task as JSON; what it throws is a failed attempt. */
export type Handler<Payload> = (payload: Payload, context: TaskContext) => unknown;

/** A handler for each name of task that the worker knows. */
export type Handlers<Tasks> = { readonly [Name in keyof Tasks]: Handler<Tasks[Name]> };

/** How long `stop` waits for Redis to take the last settlements. */
const FAREWELL_MS = 2_000;

export class Worker<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly id = uuidv7();
  readonly #options: ResolvedWorkerOptions;
  readonly #reporter: Reporter;
  readonly #handlers: ReadonlyMap<string, Handler<unknown>>;
  readonly #consumers: readonly Consumer[];
  readonly #running = new Map<Attempt, Consumer>();
  #reserved = 0;
  /** `closed`: whatever Redis still hands out is given back. */
  #state: 'new' | 'running' | 'stopping' | 'closed' = 'new';
  #stopped: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  /**
   * @param redis A client of ioredis. It is used as it is and never closed.
   * @param queues Names, the most urgent one first.
   * @param handlers By name of task. A task that has none here is set aside among the dead tasks and reported.
   */
  constructor(
    redis: RedisClient,
    queues: readonly string[],
    handlers: Handlers<Tasks>,
    options: WorkerOptions = {},
  ) {
    requireClient(redis);
    if (!Array.isArray(queues) || queues.length === 0 || new Set(queues).size !== queues.length) {
      throw new TypeError('queues must be one or more different names');
    }
    this.#options = resolveWorkerOptions(options);
    this.#reporter = new Reporter(redis, this.#options.onError);
    this.#handlers = new Map(
      Object.entries<unknown>(handlers).map(([name, handler]) => {
        if (typeof handler !== 'function') throw new TypeError(`the handler of "${name}" must be a function`);
        return [name, handler as Handler<unknown>];
      }),
    );
    const slots: Slots = {
      reserve: (consumer, most) => this.#reserve(consumer, most),
      fill: (consumer, reserved, taken, leaseEndsAt) => this.#fill(consumer, reserved, taken, leaseEndsAt),
    };
    this.#consumers = queues.map(
      (queue) => new Consumer(redis, requireName('queue', queue), this.id, this.#options, slots),
    );
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
   * Takes no more tasks, waits up to `graceMs` (default 10,000) for those that run, then aborts their signals and gives
   * them back: another worker has them at once, and the attempt does not count. Idempotent, legal before `start`. Ends
   * at most 2 s after `graceMs`, also when Redis cannot be reached; then leases will end instead.
   */
  stop({ graceMs = DEFAULTS.graceMs }: { graceMs?: number } = {}): Promise<void> {
    requireDuration('graceMs', graceMs, { min: 0, max: Infinity });
    this.#stopped ??= this.#stop(graceMs);
    return this.#stopped;
  }

  async #stop(graceMs: number): Promise<void> {
    const wasRunning = this.#state === 'running';
    this.#state = 'stopping';
    if (!wasRunning) return;
    for (const consumer of this.#consumers) consumer.leave();
    await this.#idle(graceMs);
    this.#state = 'closed';
    for (const [attempt, consumer] of this.#running) {
      attempt.abandon(new WorkerStoppedError(attempt.id));
      this.#end(attempt, consumer);
      consumer.settle(attempt.taken, GIVEN_BACK);
    }
    await Promise.all(this.#consumers.map((consumer) => consumer.stop(FAREWELL_MS)));
  }

  #idle(withinMs: number): Promise<void> {
    if (this.#running.size === 0 && this.#reserved === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#onIdle?.(), Math.min(withinMs, 2 ** 31 - 1));
      this.#onIdle = () => {
        clearTimeout(timer);
        this.#onIdle = undefined;
        resolve();
      };
    });
  }

  #reserve(consumer: Consumer, most: number): number {
    if (this.#state !== 'running') return 0;
    for (const earlier of this.#consumers) {
      if (earlier === consumer) break;
      if (earlier.goesFirst) return 0;
    }
    const count = Math.min(most, this.#options.concurrency - this.#running.size - this.#reserved);
    this.#reserved += count;
    return count;
  }

  #fill(consumer: Consumer, reserved: number, taken: readonly Taken[], leaseEndsAt: number): void {
    this.#reserved -= reserved;
    const isVoid = this.#state === 'closed' || performance.now() >= leaseEndsAt;
    for (const task of taken) {
      if (isVoid) consumer.settle(task, GIVEN_BACK);
      else this.#begin(consumer, task, leaseEndsAt);
    }
    this.#offer();
  }

  #begin(consumer: Consumer, task: Taken, leaseEndsAt: number): void {
    let attempt: Attempt;
    try {
      attempt = new Attempt(consumer.queue, task, leaseEndsAt, consumer.leases);
    } catch (error) {
      this.#reporter.tell(error);
      consumer.settle(task, died(error));
      return;
    }
    this.#running.set(attempt, consumer);
    consumer.leases.add(attempt);
    void this.#run(attempt, consumer);
  }

  async #run(attempt: Attempt, consumer: Consumer): Promise<void> {
    let settlement: Settlement;
    try {
      const handler = this.#handlers.get(attempt.name);
      if (!handler) throw new UnknownTaskError(attempt.queue, attempt.id, attempt.name);
      const result = await handler(JSON.parse(attempt.record.payload), attempt);
      settlement = result === undefined ? SUCCEEDED : this.#succeeded(attempt, result);
    } catch (error) {
      settlement = this.#judge(attempt, error);
    }
    const isOver = attempt.isOver;
    attempt.isOver = true;
    this.#end(attempt, consumer);
    if (!isOver) consumer.settle(attempt.taken, settlement);
    this.#offer();
  }

  #end(attempt: Attempt, consumer: Consumer): void {
    consumer.leases.delete(attempt);
    this.#running.delete(attempt);
  }

  /** Something has changed about the slots. */
  #offer(): void {
    for (const consumer of this.#consumers) if (consumer.isHungry) consumer.schedule();
    if (this.#running.size === 0 && this.#reserved === 0) this.#onIdle?.();
  }

  #judge(attempt: Attempt, error: unknown): Settlement {
    if (isA(RetryLater, error)) return { verdict: 'L', delayMs: error.delayMs, data: '' };
    if (isA(UnknownTaskError, error)) this.#reporter.tell(error);
    if (isA(UnknownTaskError, error) || isA(Discard, error) || attempt.attempt >= attempt.attempts) {
      return died(error);
    }
    const backoff = attempt.record.extras.backoff ?? this.#options.backoff;
    return { verdict: 'R', delayMs: backoffDelayMs(backoff, attempt.attempt), data: describeError(error) };
  }

  /** The work is done, so a result that cannot be kept is reported and left out, not a failure. */
  #succeeded(attempt: Attempt, result: unknown): Settlement {
    try {
      const json = JSON.stringify(result) ?? '';
      const bytes = Buffer.byteLength(json);
      if (bytes <= DEFAULTS.maxPayloadBytes) return { ...SUCCEEDED, data: json };
      throw new RangeError(`it has ${bytes} bytes, the limit is ${DEFAULTS.maxPayloadBytes}`);
    } catch (error) {
      this.#reporter.tell(new ResultNotKeptError(attempt.queue, attempt.id, attempt.name, error));
      return SUCCEEDED;
    }
  }
}

/** `instanceof` for what a handler has thrown, which may be a Proxy that throws in turn. */
function isA<Type>(constructor: abstract new (...args: never[]) => Type, error: unknown): error is Type {
  try {
    return error instanceof constructor;
  } catch {
    return false;
  }
}
