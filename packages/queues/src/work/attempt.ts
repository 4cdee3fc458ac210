/** One attempt of a task in this worker: the context of its handler, and its lease. */
import type { Codecs } from '@mortise/redis';
import { ignorable, waitFor } from '@mortise/redis';
import { AttemptError } from '../errors.js';
import type { Completer } from './completer.js';
import type { FetchedTask } from './fetch-and-ack.js';
import type { HandlerNames } from './handler-names.js';
import type { Heartbeater, Leased } from './heartbeater.js';
import type { StepOwner, WaitForOptions } from './attempt-steps.js';
import { AttemptSteps } from './attempt-steps.js';
import type { Report } from './leases.js';
import type { Suspension } from './completion.js';
import type { NewStep, NewWait, StoredSteps, WaitAnswer } from './step-store.js';
import { linesOf, progressJson } from './progress.js';
import type { Shard } from '../shard/shard.js';
import type { TaskRecord } from '../task/record.js';
import type { Child } from '../flow/child.js';
import { readChildren } from '../flow/child.js';
import { decodeRecord, PARENT } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Call } from './worker-telemetry.js';

/** The second argument of a handler. Its functions can be destructured. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  readonly attempts: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Aborted when the attempt no longer counts. The reason's code tells why: the lease is lost (ERR_LEASE_LOST), the task was
   * cancelled (ERR_TASK_CANCELLED) or took too long (ERR_TASK_TIMEOUT). With ERR_WORKER_STOPPED the worker stops and waits no
   * longer.
   */
  readonly signal: AbortSignal;
  /**
   * Renews the lease now. The worker also does so by itself, after each third of the lease. Rejects with the reason of the
   * signal when that is aborted, or with ERR_ATTEMPT_ENDED when the handler has returned. One round trip, shared by all calls
   * of one tick. An unhandled rejection does not end the process.
   */
  readonly renew: () => Promise<void>;
  /**
   * Stores the progress of the task in place of earlier progress. Resolves when it is stored, at the latest before the task
   * completes. Up to 16,384 bytes as JSON, otherwise TypeError or RangeError. Rejects as `renew` does. One round trip, shared
   * by all calls of one tick.
   */
  readonly progress: (value: unknown) => Promise<void>;
  /**
   * Stores a log line with the task, or a line for each line of the text. Keeps the first 1,000 characters of a line, and
   * the last 100 lines and 16,384 bytes of a task. Resolves and rejects as `progress` does, with the same round trips.
   */
  readonly log: (text: string) => Promise<void>;
  /**
   * Resolves to the ended children of this task, in their order; to none unless the task is the parent of a flow. Children are
   * kept as long as the parent may run, whatever their retention. One round trip for each 2 MiB.
   */
  readonly children: () => Promise<Child[]>;
  /**
   * Runs a step once. Its result is stored with the task, and a later attempt gets the result instead of running the step
   * again. A step runs again only if its attempt ended before the result was stored. Each name occurs once in an attempt. A
   * result has up to 262,144 bytes as JSON; a task has up to 1,000 steps with 1 MiB of results. One command for each step,
   * shared by all calls of one tick, and one for the first use in an attempt. Rejects as `renew` does, with the error of the
   * step, ERR_TOO_MANY_STEPS or ERR_STEPS_TOO_LARGE.
   */
  readonly step: <Result>(name: string, run: () => Result | PromiseLike<Result>) => Promise<Result>;
  /**
   * Frees the slot; after this time, in ms, the task goes on at any worker. The call rejects now. Later the handler runs from
   * its start again, and the same `sleep` resolves. So put the code before it into steps. No attempt is counted; the task is
   * `retrying` meanwhile, and `expiresInMs` goes on. A sleep is a step, named by its place among the sleeps of the handler. 0
   * to 10 years. Costs what a step does.
   */
  readonly sleep: (ms: number) => Promise<void>;
  /**
   * Waits for an event that `queue.deliver` sends to this task, and resolves to its payload. An event that has come before
   * counts. Otherwise the slot is freed until the event comes, as with `sleep`. Each event is taken once, in the order of the
   * deliveries. The wait is a step, named by the event. Waits of one attempt follow each other.
   *
   * Rejects with ERR_EVENT_TIMEOUT when no event came within `timeoutMs` of the first call, in later attempts too. Costs one
   * command, and one more run of the handler when the slot was freed.
   */
  readonly waitFor: <Payload = unknown>(event: string, options: WaitForOptions) => Promise<Payload>;
  /**
   * Resolves to the value of the last `setCursor`, also of an earlier attempt; to undefined without a cursor. Costs what the
   * first step does.
   */
  readonly cursor: () => Promise<unknown>;
  /**
   * Stores the position of a loop, in place of the last cursor. The value is JSON. Limits, costs and rejections are those of a
   * step.
   */
  readonly setCursor: (value: unknown) => Promise<void>;
}

/** The services that renew and complete the attempts of one shard. */
export interface Source {
  readonly shard: Shard;
  readonly completer: Completer;
  readonly heartbeater: Heartbeater;
  readonly names: HandlerNames;
}

export class Attempt implements TaskContext, Leased, StepOwner {
  readonly id: string;
  readonly attempt: number;
  readonly record: TaskRecord;
  /** Completed, lost, cancelled or given back: the handler's outcome no longer counts. */
  isOver = false;
  /** Not started after this, by `performance.now()`. */
  expiresAt = Infinity;
  timeout: NodeJS.Timeout | undefined;
  /** The call that telemetry measures, until its end. */
  call: Call | undefined;
  #controller: AbortController | undefined;
  #steps: AttemptSteps | undefined;
  /** Under way. */
  #reports: Set<Promise<void>> | undefined;

  /** Throws for a record that this version cannot read. */
  constructor(
    readonly source: Source,
    readonly fetched: FetchedTask,
    /** By `performance.now()`; afterwards another worker may have the lease. */
    public leaseEndsAt: number,
    readonly codecs?: Codecs,
  ) {
    this.id = decodeTaskId(fetched.storedId);
    this.attempt = fetched.attempt;
    this.record = decodeRecord(fetched.record);
  }

  get queue(): string {
    return this.source.shard.queue;
  }

  get name(): string {
    return this.record.name;
  }

  get attempts(): number {
    return this.record.attempts;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.record.extras.headers ?? {};
  }

  /** Created at the first use, since most handlers need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  // The functions are created at their first use too.

  get renew(): () => Promise<void> {
    return () => ignorable(this.#renew());
  }

  get progress(): (value: unknown) => Promise<void> {
    return (value) => this.#track(() => ({ progress: progressJson(value), lines: '' }));
  }

  get log(): (text: string) => Promise<void> {
    return (text) => this.#track(() => ({ progress: '', lines: linesOf(text) }));
  }

  get children(): () => Promise<Child[]> {
    return () => ignorable(this.#children());
  }

  get step(): TaskContext['step'] {
    return (name, run) => this.#ownSteps.step(name, run);
  }

  get sleep(): (ms: number) => Promise<void> {
    return (ms) => this.#ownSteps.sleep(ms);
  }

  get waitFor(): TaskContext['waitFor'] {
    return <Payload>(event: string, options: WaitForOptions) =>
      this.#ownSteps.waitFor(event, options) as Promise<Payload>;
  }

  /** The end that `sleep` or `waitFor` has decided on. */
  get suspension(): Suspension | undefined {
    return this.#steps?.suspension;
  }

  get cursor(): () => Promise<unknown> {
    return () => this.#ownSteps.cursor();
  }

  get setCursor(): (value: unknown) => Promise<void> {
    return (value) => this.#ownSteps.setCursor(value);
  }

  get #ownSteps(): AttemptSteps {
    this.#steps ??= new AttemptSteps(this, this.codecs);
    return this.#steps;
  }

  requireLease(): void {
    if (this.isOver) this.#throwEnd();
  }

  async storeStep(step: NewStep): Promise<string> {
    this.requireLease();
    const answer = await this.source.heartbeater.storeStep(this, step);
    this.requireLease();
    return answer;
  }

  async registerWait(wait: NewWait): Promise<WaitAnswer> {
    this.requireLease();
    const reply = await this.source.heartbeater.waitFor(this, wait);
    this.requireLease();
    return reply;
  }

  readSteps(): Promise<StoredSteps> {
    return this.source.heartbeater.readSteps(this);
  }

  /** Resolves when no report is under way, or when the attempt is over; undefined if none is. */
  get reported(): Promise<unknown> | undefined {
    if (!this.#reports || this.#reports.size === 0) return undefined;
    return waitFor(Promise.allSettled(this.#reports), { signal: this.signal }).catch(() => undefined);
  }

  /** Ends the attempt from outside the handler. */
  abandon(reason: Error): void {
    this.isOver = true;
    this.call?.abandoned(this, reason);
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  #track(report: () => Report): Promise<void> {
    const stored = ignorable(this.#report(report));
    this.#reports ??= new Set();
    this.#reports.add(stored);
    const forget = (): void => void this.#reports!.delete(stored);
    stored.then(forget, forget);
    return stored;
  }

  async #report(report: () => Report): Promise<void> {
    const checked = report();
    const isStored = !this.isOver && (await this.source.heartbeater.report(this, checked));
    if (!isStored) this.#throwEnd();
  }

  async #renew(): Promise<void> {
    if (!this.isOver) await this.source.heartbeater.renew(this);
    if (this.isOver) this.#throwEnd();
  }

  async #children(): Promise<Child[]> {
    if ((this.record.flags & PARENT) === 0) return [];
    return [...(await readChildren(this.source.shard, this.fetched.storedId))];
  }

  #throwEnd(): never {
    this.signal.throwIfAborted();
    throw new AttemptError('ERR_ATTEMPT_ENDED', this.queue, this.id);
  }
}
