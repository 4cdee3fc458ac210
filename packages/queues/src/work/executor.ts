/**
 * Runs fetched tasks in the slots of a worker, and passes their completions to the completer.
 *
 *   new ──start──► open ◄──resume── ──pause──► paused        both ──stop──► draining ──all has ended, or no time left──► closed
 *
 *   open       reserves room for the fetchers
 *   paused     reserves none; running attempts go on
 *   draining   as paused; tasks that have not begun have gone back, and those that still arrive go back too: one that began at the
 *              end of the grace would be given back while it runs
 *   closed     as draining; running attempts were aborted and given back
 *
 * The life of a task here:
 *
 *   fetched ─┬─► in a slot ──► ended                                       a slot is free
 *            ├─► prefetched ──► in a slot, or back after some ms          none is; see prefetch.ts
 *            ├─► in the queue of its handler ──► in a slot, or back       its name has a limit or is run in batches
 *            ├─► handed back                                              its name has no handler here; see unknown-tasks.ts
 *            └─► ended                                                    expired, unreadable, or its lease is over
 */
import type { ErrorReporter } from '@mortise/redis';
import { decodedJson } from '@mortise/redis';
import { AttemptError, WorkerError } from '../errors.js';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Source } from './attempt.js';
import { Attempt } from './attempt.js';
import type { Completion } from './completion.js';
import { died, GIVEN_BACK } from './completion.js';
import { EndListeners } from './end-listeners.js';
import { FairPicker } from './fair-picker.js';
import type { FetchedTask } from './fetch-and-ack.js';
import type { Demand, FetchedBatch, Fetcher, Room } from './fetcher.js';
import type { BatchAttempt, CallOptions } from './handler-call.js';
import { callBatchHandler, callHandler, failed, validated } from './handler-call.js';
import { HandlerQueue } from './handler-queue.js';
import type { ResolvedHandler } from './handlers.js';
import { handlerOf } from './handlers.js';
import { Prefetch } from './prefetch.js';
import type { Service } from './service.js';
import type { Schemas } from '../task/schemas.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Shard } from '../shard/shard.js';
import { UnknownTasks } from './unknown-tasks.js';
import type { WorkerTelemetry } from './worker-telemetry.js';

export interface SlotRoom extends Room {
  readonly isHandOff: boolean;
  /** `Prefetch.round` at that time. */
  readonly round: number;
}

export interface ExecutorOptions {
  readonly options: ResolvedWorkerOptions;
  readonly handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly queues: readonly string[];
  readonly weights: ReadonlyMap<string, number> | undefined;
  readonly schemas: Schemas | undefined;
  readonly telemetry: WorkerTelemetry | undefined;
  readonly reporter: ErrorReporter;
}

/** A call of a handler with a queue of its own, until all of its attempts have ended. */
interface QueuedCall {
  readonly queue: HandlerQueue;
  left: number;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

export class Executor implements Demand<SlotRoom>, Service {
  protected call = callHandler;
  readonly #options: ResolvedWorkerOptions;
  readonly #handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly #handlerQueues = new Map<ResolvedHandler, HandlerQueue>();
  readonly #telemetry: WorkerTelemetry | undefined;
  readonly #reporter: ErrorReporter;
  readonly #listeners: EndListeners;
  readonly #unknown: UnknownTasks;
  readonly #callOptions: CallOptions;
  readonly #prefetch: Prefetch;
  readonly #picker: FairPicker<Fetcher<SlotRoom>>;
  readonly #sources = new Map<Fetcher<SlotRoom>, Source>();
  /** Attempts that take a slot. */
  readonly #running = new Set<Attempt>();
  readonly #queuedCalls = new Map<Attempt, QueuedCall>();
  /** The room that the calls under way have reserved. */
  readonly #reserved = new Set<SlotRoom>();
  #reservedSlots = 0;
  #state: 'new' | 'open' | 'paused' | 'draining' | 'closed' = 'new';
  #onIdle: (() => void) | undefined;

  constructor({ options, handlers, queues, weights, schemas, telemetry, reporter }: ExecutorOptions) {
    this.#options = options;
    this.#handlers = handlers;
    this.#telemetry = telemetry;
    this.#reporter = reporter;
    const { backoff, maxPayloadBytes, codecs, onSucceeded, onFailed } = options;
    this.#listeners = new EndListeners(onSucceeded, onFailed, reporter);
    this.#callOptions = { backoff, maxPayloadBytes, codecs, reporter, schemas, listeners: this.#listeners };
    this.#unknown = new UnknownTasks(options.unknownAfterMs, reporter);
    this.#prefetch = new Prefetch(options.prefetch, (attempt) => this.#giveBack(attempt));
    this.#picker = new FairPicker(queues, weights);
    for (const handler of handlers.values()) {
      if (handler.maxCalls === Infinity && !handler.handleMany) continue;
      const begin = (attempts: readonly Attempt[]): void => this.#beginCall(handler, attempts);
      this.#handlerQueues.set(handler, new HandlerQueue(handler, begin));
    }
  }

  /** Attempts whose handlers run now. */
  get running(): number {
    return this.#running.size;
  }

  /** Number of slots without a task. */
  get free(): number {
    let free = this.#options.concurrency - this.#running.size;
    for (const queue of this.#handlerQueues.values()) free -= queue.slots;
    return free;
  }

  /** Accepts the tasks of a fetcher; `source` renews and completes their attempts. */
  add(fetcher: Fetcher<SlotRoom>, source: Source): void {
    this.#sources.set(fetcher, source);
    this.#picker.add(fetcher);
  }

  start(): void {
    if (this.#state === 'new') this.#state = 'open';
  }

  pause(): void {
    if (this.#state !== 'open') return;
    this.#state = 'paused';
    this.#prefetch.giveBack();
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'open';
  }

  /** Waits for running attempts, then aborts them and gives them back. */
  async stop(graceMs: number): Promise<void> {
    if (this.#state === 'new' || this.#state === 'closed') return;
    this.#state = 'draining';
    this.#prefetch.giveBack();
    for (const queue of this.#handlerQueues.values()) {
      for (const attempt of queue.clear()) this.#giveBack(attempt);
    }
    await this.#idle(graceMs);
    this.#state = 'closed';
    for (const attempt of this.#running) this.#giveBack(attempt);
  }

  reserve(fetcher: Fetcher<SlotRoom>, most: number, isHandOff: boolean): SlotRoom {
    const { leaseMs } = this.#options;
    const round = this.#prefetch.round;
    const none: SlotRoom = { want: 0, slots: 0, leaseMs, isHandOff, round };
    if (this.#state !== 'open' || most === 0) return none;
    // A call sent before the last give-back may bring tasks that must also go back. Until its reply has come, nothing is
    // fetched, so the order is kept.
    if (!isHandOff) for (const room of this.#reserved) if (room.round !== round) return none;
    const free = this.free - this.#reservedSlots;
    const places = !isHandOff && this.#mayPrefetch(fetcher) ? this.#prefetch.places : 0;
    // Prefetched tasks, and room for them, make this negative.
    const open = free + places - this.#prefetch.size;
    if (open <= 0) return none;
    const want = Math.min(most, this.#picker.share(fetcher, open));
    this.#picker.charge(fetcher, want);
    this.#reservedSlots += want;
    const room = { want, slots: Math.min(want, Math.max(0, free)), leaseMs, isHandOff, round };
    if (want > 0 && !isHandOff) this.#reserved.add(room);
    return room;
  }

  receive(fetcher: Fetcher<SlotRoom>, batch: FetchedBatch<SlotRoom>): void {
    const { room, tasks, leaseEndsAt, nowMs, hasMore } = batch;
    const source = this.#sources.get(fetcher)!;
    this.#reserved.delete(room);
    this.#reservedSlots -= room.want;
    if (room.want > 0 && !room.isHandOff && nowMs > 0) {
      const isFull = tasks.length === room.want;
      this.#prefetch.answered(
        isFull,
        !isFull && hasMore && room.want > room.slots && tasks.length >= room.slots,
      );
    }
    if (this.#telemetry && tasks.length > 0) this.#telemetry.noteTime(source, nowMs);
    if (room.want > tasks.length) this.#picker.charge(fetcher, tasks.length - room.want);
    const isLate = room.round !== this.#prefetch.round;
    for (const task of tasks) {
      // Checked for each task: a handler that blocks the thread may use up the leases of the tasks after it.
      const isVoid = isLate || this.#isStopping || performance.now() >= leaseEndsAt;
      if (isVoid) source.completer.add(task, GIVEN_BACK);
      else this.#accept(source, task, leaseEndsAt, nowMs);
    }
    this.#offer();
  }

  adapt(fetcher: Fetcher<SlotRoom>): void {
    if (!this.#mayPrefetch(fetcher)) this.#prefetch.giveBack();
  }

  /**
   * Whether tasks may be fetched beyond the free slots. A prefetched task would count for the limits of the queue and of
   * its groups as if it ran, and would delay other names, shards and queues.
   */
  #mayPrefetch({ shard }: { readonly shard: Shard }): boolean {
    if (this.#state !== 'open' || this.#handlerQueues.size > 0 || this.#sources.size > 1) return false;
    const { concurrency, rate, groupConcurrency, groupRate, isOrdered } = shard.settings.values;
    const limits = [concurrency, rate, groupConcurrency, groupRate];
    return !isOrdered && limits.every((limit) => limit === undefined);
  }

  #accept(source: Source, task: FetchedTask, leaseEndsAt: number, nowMs: number): void {
    let attempt: Attempt;
    try {
      attempt = new Attempt(source, task, leaseEndsAt, this.#options.codecs);
    } catch (cause) {
      const { queue } = source.shard;
      const error = new WorkerError('ERR_TASK_UNREADABLE', queue, decodeTaskId(task.storedId), '', cause);
      this.#reporter.report(error);
      source.completer.add(task, died(error));
      return;
    }
    const { enqueuedAt, extras } = attempt.record;
    // A later attempt means that the first one started in time.
    if (extras.expiresInMs !== undefined && attempt.attempt === 1) {
      attempt.expiresAt = performance.now() + enqueuedAt + extras.expiresInMs - nowMs;
      if (this.#isExpired(attempt)) return;
    }
    const handler = handlerOf(this.#handlers, attempt);
    const completion = handler ? undefined : this.#unknown.handBack(attempt, nowMs);
    if (completion) {
      source.completer.add(task, completion);
      return;
    }
    const queue = handler && this.#handlerQueues.size > 0 ? this.#handlerQueues.get(handler) : undefined;
    if (!queue) {
      source.heartbeater.hold(attempt);
      if (this.#hasSlot) void this.#run(attempt, handler);
      else if (!this.#mayPrefetch(source) || !this.#prefetch.add(attempt)) this.#giveBack(attempt);
    } else if (queue.add(attempt)) {
      source.heartbeater.hold(attempt);
      queue.begin();
    } else {
      source.completer.add(task, { verdict: 'L', delayMs: queue.delayMs(), data: '' });
    }
  }

  #isExpired(attempt: Attempt): boolean {
    if (performance.now() < attempt.expiresAt) return false;
    const { source, queue, id, record, fetched } = attempt;
    attempt.isOver = true;
    this.#telemetry?.expired(attempt, handlerOf(this.#handlers, attempt) !== undefined);
    source.heartbeater.drop(attempt);
    const error = new AttemptError('ERR_TASK_EXPIRED', queue, id, record.extras.expiresInMs);
    this.#listeners.failed(attempt, error, true);
    source.completer.add(fetched, died(error));
    return true;
  }

  get #isStopping(): boolean {
    return this.#state === 'draining' || this.#state === 'closed';
  }

  get #hasSlot(): boolean {
    return this.#running.size < this.#options.concurrency;
  }

  /** Moves prefetched tasks into free slots, except those with a lost lease. */
  #beginPrefetched(): void {
    while (this.#prefetch.size > 0 && this.#hasSlot) {
      const attempt = this.#prefetch.next()!;
      if (attempt.isOver || this.#isExpired(attempt)) continue;
      // A handler that blocked the thread has also blocked the timers.
      if (performance.now() >= attempt.leaseEndsAt) this.#giveBack(attempt);
      else void this.#run(attempt, handlerOf(this.#handlers, attempt));
    }
  }

  /** Starts a call for tasks of a handler's queue. */
  #beginCall(handler: ResolvedHandler, waiting: readonly Attempt[]): void {
    const attempts = waiting.filter((attempt) => !attempt.isOver && !this.#isExpired(attempt));
    const queue = this.#handlerQueues.get(handler)!;
    const call = { queue, left: attempts.length };
    for (const attempt of attempts) this.#queuedCalls.set(attempt, call);
    if (attempts.length === 0) queue.ended();
    else if (handler.handleMany) void this.#runMany(attempts, handler);
    else void this.#run(attempts[0]!, handler);
    // The other attempts had slots, which are free now.
    if (attempts.length < waiting.length) this.#offer();
  }

  async #run(attempt: Attempt, handler: ResolvedHandler | undefined): Promise<void> {
    this.#begin(attempt, handler);
    attempt.call = this.#telemetry?.begin([attempt], handler !== undefined);
    const startedAt = performance.now();
    const completion = await this.call(attempt, handler, this.#callOptions);
    this.#prefetch.ran(performance.now() - startedAt);
    this.#finish(attempt, completion);
  }

  /** As `#run`, in one call of a batch handler. */
  async #runMany(attempts: readonly Attempt[], handler: ResolvedHandler): Promise<void> {
    const { schemas, codecs } = this.#callOptions;
    const call = this.#telemetry?.begin(attempts, true);
    for (const attempt of attempts) {
      this.#begin(attempt, handler);
      attempt.call = call;
    }
    const batch: BatchAttempt[] = [];
    for (const ctx of attempts) {
      try {
        const json = decodedJson(ctx.record.payload, codecs);
        const payload: unknown = schemas ? await validated(ctx, json, schemas) : JSON.parse(json);
        batch.push({ payload, ctx });
      } catch (error) {
        this.#finish(ctx, failed(ctx, handler, error, this.#callOptions));
      }
    }
    const completions = batch.every(({ ctx }) => ctx.isOver)
      ? []
      : await callBatchHandler(batch, handler, call, this.#callOptions);
    for (const [index, { ctx }] of batch.entries()) this.#finish(ctx, completions[index] ?? GIVEN_BACK);
  }

  #begin(attempt: Attempt, handler: ResolvedHandler | undefined): void {
    this.#running.add(attempt);
    const timeoutMs = attempt.record.extras.timeoutMs ?? handler?.timeoutMs;
    if (timeoutMs === undefined) return;
    attempt.timeout = setTimeout(() => this.#timeOut(attempt, handler, timeoutMs), timeoutMs);
  }

  #timeOut(attempt: Attempt, handler: ResolvedHandler | undefined, timeoutMs: number): void {
    if (attempt.isOver) return;
    const error = new AttemptError('ERR_TASK_TIMEOUT', attempt.queue, attempt.id, timeoutMs);
    const completion = failed(attempt, handler, error, this.#callOptions);
    attempt.call?.completed(attempt, completion);
    // Set before listeners of the signal can call anything.
    attempt.isOver = true;
    this.#release(attempt);
    attempt.source.completer.add(attempt.fetched, completion);
    attempt.abandon(error);
    this.#next();
  }

  #finish(attempt: Attempt, completion: Completion): void {
    const { isOver } = attempt;
    if (!isOver) attempt.call?.completed(attempt, completion);
    attempt.isOver = true;
    this.#release(attempt);
    if (!isOver) attempt.source.completer.add(attempt.fetched, completion);
    this.#next();
  }

  /** Ends an attempt, running or not; other workers can have the task at once. */
  #giveBack(attempt: Attempt): void {
    const { source, fetched, isOver } = attempt;
    if (!isOver) attempt.abandon(new AttemptError('ERR_WORKER_STOPPED', attempt.queue, attempt.id));
    this.#release(attempt);
    if (!isOver) source.completer.add(fetched, GIVEN_BACK);
  }

  /** Releases the lease and the slot of an attempt. */
  #release(attempt: Attempt): void {
    attempt.source.heartbeater.drop(attempt);
    if (!this.#running.delete(attempt)) return;
    if (attempt.timeout) clearTimeout(attempt.timeout);
    const call = this.#queuedCalls.get(attempt);
    if (!call) return;
    this.#queuedCalls.delete(attempt);
    call.left -= 1;
    if (call.left === 0) call.queue.ended();
  }

  /** An attempt has ended. */
  #next(): void {
    this.#beginPrefetched();
    this.#offer();
  }

  /** Offers the free room to the fetchers. */
  #offer(): void {
    for (const fetcher of this.#sources.keys()) fetcher.offer();
    if (this.#running.size === 0) this.#onIdle?.();
  }

  #idle(withinMs: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#onIdle?.(), Math.min(withinMs, MAX_TIMER_MS));
      this.#onIdle = () => {
        clearTimeout(timer);
        this.#onIdle = undefined;
        resolve();
      };
    });
  }
}
