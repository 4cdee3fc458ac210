/* oxlint-disable typescript/no-explicit-any -- the defaults of BullMQ: code that moves has jobs of any data */
/**
 * A worker with the options, calls and events of BullMQ 6: the engine's executor and services with one handler for every name.
 *
 * The engine's number of an attempt counts starts that ended by a lost lease, until the job is moved; the layer counts attempts and earlier stalls
 * itself, and stores them with the job. So a failed attempt is no end for the engine: the job is moved to its next attempt, and the engine's ack finds
 * the lease over.
 */
import { ErrorReporter, LeaseLostError } from '@mortise/redis';
import { randomUUID } from 'node:crypto';
import type { Attempt } from '../work/attempt.js';
import type { Completion } from '../work/completion.js';
import { died } from '../work/completion.js';
import { ServedShards } from '../work/served-shards.js';
import { announceValue } from './announced-values.js';
import { QueueBase } from './base.js';
import { claimNext, stopClaims } from './by-hand.js';
import {
  BullmqUnsupportedError,
  isMoved,
  isRateLimit,
  RateLimitError,
  refusalOf,
  UnrecoverableError,
} from './errors.js';
import { FailedJob } from './failed-job.js';
import { InFlight } from './in-flight.js';
import { requireChildrenEnded } from './family.js';
import { scheduleNext } from './fetched-job.js';
import type { Job } from './job.js';
import { JobScheduler } from './job-scheduler.js';
import { dropLock } from './locks.js';
import { limitRate, manualLimitOf } from './manual-limit.js';
import { Presence } from './presence.js';
import type { Processor } from './processor.js';
import { RemovedJobs } from './removed-jobs.js';
import type { Run, WorkerRun } from './run.js';
import { beginRun, resultJson } from './run.js';
import { applyRetention, completed, keepOf } from './retention.js';
import type { WorkerOptions } from './types.js';
import type { EngineOptions } from './worker-options.js';
import { checkWorkerOptions, engineOptions, WORKER_DEFAULTS } from './worker-options.js';
import { WorkerExecutor } from './worker-executor.js';

const MAX_CONCURRENCY = 10_000;
const LAST_ACKS_MS = 2_000;
/** The job was moved, or goes back. */
const GONE: Completion = { verdict: 'L', delayMs: 0, data: '' };
/** Parameters of a processor with a signal. */
const MAY_BE_CANCELLED = 3;
export class Worker<Data = any, Result = any, Name extends string = string> extends QueueBase {
  readonly id: string = randomUUID();
  declare opts: WorkerOptions;
  readonly #processor: Processor<Data, Result, Name> | undefined;
  readonly #resolved: EngineOptions;
  readonly #cancels = new Map<string, AbortController>();
  #executor: WorkerExecutor | undefined;
  #shards: ServedShards | undefined;
  #tokens = 0;
  #isPaused = false;
  #isRunning = false;
  #isDrained = false;
  #hasEnded = false;
  #ended: (() => void) | undefined;
  readonly #inFlight = new InFlight();
  #scheduler: JobScheduler | undefined;
  readonly #presence: Presence;
  readonly #removed = new RemovedJobs(this.store);
  #unlisten = (): void => undefined;

  static RateLimitError(): Error {
    return new RateLimitError();
  }

  constructor(
    name: string,
    processor?: Processor<Data, Result, Name> | string | URL | null,
    opts?: WorkerOptions,
  ) {
    if (!opts?.connection) throw new Error('Worker requires a connection');
    checkWorkerOptions({ ...WORKER_DEFAULTS, ...opts });
    super(name, { ...WORKER_DEFAULTS, ...opts });
    if (processor && typeof processor !== 'function') {
      throw new BullmqUnsupportedError('a processor in a file', 'use sandbox() of @mortise/queues/sandbox');
    }
    this.#processor = typeof processor === 'function' ? processor : undefined;
    this.#resolved = engineOptions(this.opts, this.store.prefix, (error) => this.#onError(error));
    this.concurrency = this.opts.concurrency!;
    this.#unlisten = manualLimitOf(this.qualifiedName).listen(() => this.#adapt());
    if (this.#processor && this.opts.autorun) {
      this.run().catch((error: unknown) => this.emit('error', error));
    }
    this.#presence = new Presence(this.store, 'w', this.id, this.opts.name ?? '');
    void this.#reportReady().catch(() => undefined);
  }

  override async waitUntilReady(): Promise<void> {
    await super.waitUntilReady();
    await this.#presence.begin();
  }

  async #reportReady(): Promise<void> {
    await this.waitUntilReady();
    setTimeout(() => this.emit('ready'), 0);
  }

  get concurrency(): number {
    return this.#resolved.concurrency;
  }

  set concurrency(concurrency: number) {
    if (typeof concurrency !== 'number' || concurrency < 1 || !Number.isFinite(concurrency)) {
      throw new Error('concurrency must be a finite number greater than 0');
    }
    this.#resolved.concurrency = Math.min(MAX_CONCURRENCY, Math.floor(concurrency));
    this.opts.concurrency = concurrency;
    this.#shards?.resume();
  }

  isPaused = (): boolean => this.#isPaused;

  isRunning = (): boolean => this.#isRunning;

  get jobScheduler(): Promise<JobScheduler> {
    return Promise.resolve((this.#scheduler ??= new JobScheduler(this)));
  }

  /** Resolves when the worker is closed or paused. */
  async run(): Promise<void> {
    if (!this.#processor) throw new Error('No process function is defined.');
    if (this.#isRunning) throw new Error('Worker is already running.');
    if (this.closing || this.#isPaused) return;
    this.#isRunning = true;
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    await this.store.ready();
    const { limiter } = this.opts;
    if (limiter) await limitRate(this.store, limiter);
    if (this.#executor) this.#adapt();
    else if (!this.closing) this.#start();
    await ended;
  }

  #start(): void {
    const reporter = new ErrorReporter('mortise worker', this.#resolved.onError, this.redis);
    const executor = new WorkerExecutor(
      {
        options: this.#resolved,
        queues: [this.name],
        weights: undefined,
        schemas: undefined,
        telemetry: undefined,
        reporter,
      },
      {
        run: (attempt) => this.#run(attempt),
        onFetched: (count, hasMore) => this.#onFetched(count, hasMore),
        onAdded: () => this.#inFlight.acked(),
        onAnswer: (answer, run, isRemoved) => this.#onAnswer(answer, run as Run | undefined, isRemoved),
      },
    );
    this.#executor = executor;
    this.#shards = new ServedShards(this.redis, [this.name], {
      workerId: this.id,
      options: this.#resolved,
      executor,
      reporter,
      handledIn: () => ['*'],
    });
    executor.start();
    this.#shards.start();
    this.#adapt();
  }

  /** Waits for running jobs, unless `doNotWaitActive`. */
  async pause(doNotWaitActive = false): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#adapt();
    const idle = this.#inFlight.idle().then(() => this.#endRun());
    if (!doNotWaitActive) await idle;
    this.emit('paused');
  }

  #endRun(): void {
    if (!this.#isPaused) return;
    this.#isRunning = false;
    this.#ended?.();
  }

  async resume(): Promise<void> {
    if (this.#isRunning && !this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isRunning && this.#processor) void this.run();
    else this.#adapt();
    this.emit('resumed');
  }

  /** Stops fetching for `expireTimeMs`, in all workers of this process; the processor then throws `Worker.RateLimitError()`. */
  rateLimit(expireTimeMs: number): Promise<void> {
    manualLimitOf(this.qualifiedName).limit(expireTimeMs);
    return Promise.resolve();
  }

  /** The next job without a processor, with `token` as its lock. */
  async getNextJob(token: string, { block = true } = {}): Promise<Job<Data, Result, Name> | undefined> {
    if (this.#isPaused || this.closing) return undefined;
    const { lockDuration, drainDelay } = this.opts;
    return (await claimNext(this, token, lockDuration!, block ? drainDelay! : 0)) as
      | Job<Data, Result, Name>
      | undefined;
  }

  /** Does nothing: jobs whose lease is over run again without a timer, also those of `getNextJob`. */
  startStalledCheckTimer(): Promise<void> {
    return Promise.resolve();
  }

  cancelJob(jobId: string, reason?: string): boolean {
    const controller = this.#cancels.get(jobId);
    controller?.abort(reason);
    return controller !== undefined;
  }

  cancelAllJobs(reason?: string): void {
    for (const id of this.#cancels.keys()) this.cancelJob(id, reason);
  }

  override async close(force = false): Promise<void> {
    this.closing ??= this.#close(force);
    await this.closing;
  }

  async #close(force: boolean): Promise<void> {
    this.emit('closing', 'closing queue');
    this.#unlisten();
    this.#shards?.leave();
    await stopClaims(this.store);
    await this.#executor?.stop(force ? 0 : Infinity);
    await this.#shards?.stop(LAST_ACKS_MS);
    await this.#inFlight.settled();
    await this.#presence.end();
    this.#isRunning = false;
    this.#ended?.();
    await this.end();
    this.emit('closed');
  }

  #adapt(): void {
    const isLimited = manualLimitOf(this.qualifiedName).until > Date.now();
    if (this.#isPaused || isLimited) {
      this.#executor?.pause();
      this.#shards?.pause();
    } else {
      this.#executor?.resume();
      this.#shards?.resume();
    }
  }

  #onFetched(count: number, hasMore: boolean): void {
    if (count > 0 || hasMore) this.#isDrained = false;
    else if (!this.#isDrained) {
      this.#isDrained = true;
      this.emit('drained');
      this.#reportDrained();
    }
  }

  /** Readers of events learn it once after the last job. */
  #reportDrained(): void {
    if (!this.#isDrained || !this.#hasEnded || this.#inFlight.running > 0) return;
    this.#hasEnded = false;
    void this.store.publish('', { event: 'drained' }).catch(() => undefined);
  }

  #onError(error: Error): void {
    if (error instanceof LeaseLostError) return;
    this.report(error);
  }

  async #run(attempt: Attempt): Promise<Completion> {
    // It came with a call that was under way.
    if (this.#isPaused) return GONE;
    let run: WorkerRun<Data, Result, Name>;
    try {
      this.#tokens += 1;
      run = beginRun(this, attempt, `${this.id}:${this.#tokens}`);
    } catch (error) {
      this.report(error as Error);
      return died(error);
    }
    this.#inFlight.began();
    const { job, token, isPlain } = run;
    try {
      if (isPlain && this.listenerCount('active') > 0) this.emit('active', job, 'waiting');
      const isDirect = isPlain && this.#processor!.length < MAY_BE_CANCELLED;
      const result = await (isDirect
        ? this.#processor!(job, token)
        : this.#call(job, attempt, token, isPlain));
      if (run.isMoved) return GONE;
      const json = resultJson(result);
      if (run.hasChildren) job.setHasChildren();
      if (job.isParent) await requireChildrenEnded(job);
      job.returnvalue = (result || undefined) as Result;
      if (job.parent) await job.reportToParent({ outcome: 's', value: json || 'null' });
      run.end = 'completed';
      run.value = result;
      const end = completed(job, json, this.opts);
      if (end.keepsNone) await announceValue(job, json, attempt.source.shard);
      return end;
    } catch (error) {
      return await this.#failure(error as Error, run);
    } finally {
      if (this.#cancels.size > 0) this.#cancels.delete(job.id!);
      dropLock(this.qualifiedName, run);
      this.#inFlight.ended();
      this.#reportDrained();
    }
  }

  async #call(
    job: Job<Data, Result, Name>,
    attempt: Attempt,
    token: string,
    isActive: boolean,
  ): Promise<Result> {
    const stalls = job.stalledCounter + attempt.attempt - 1;
    if (attempt.attempt > 1) {
      job.stalledCounter = stalls;
      this.emit('stalled', job.id, 'active');
      await this.store.publish(job.id!, { event: 'stalled' });
    }
    if (job.repeatJobKey !== undefined) await scheduleNext(this, job);
    if (!isActive) this.emit('active', job, 'waiting');
    const { maxStalledCount = 1, maxStartedAttempts } = this.opts;
    if (stalls > maxStalledCount && job.repeatJobKey === undefined) {
      throw new UnrecoverableError('job stalled more than allowable limit');
    }
    if (maxStartedAttempts && maxStartedAttempts < job.attemptsStarted) {
      throw new UnrecoverableError('job started more than allowable limit');
    }
    if (job.isParent) {
      const { '!': reason } = await this.store.children(job.id!);
      if (reason !== undefined) throw new UnrecoverableError(reason);
    }
    if (this.#processor!.length < MAY_BE_CANCELLED) return this.#processor!(job, token);
    const controller = new AbortController();
    this.#cancels.set(job.id!, controller);
    attempt.signal.addEventListener('abort', () => controller.abort(attempt.signal.reason), { once: true });
    return this.#processor!(job, token, controller.signal);
  }

  async #failure(error: Error, run: Run): Promise<Completion> {
    const { job } = run;
    if (run.isMoved || isMoved(error)) return GONE;
    try {
      if (isRateLimit(error)) {
        await job.moveToWait(job.token);
        return GONE;
      }
      if (await job.fail(error, job.token!)) {
        run.end = 'failed';
        run.value = error;
        return died(new FailedJob(job.failedReason, error));
      }
      this.emit('failed', job, error, 'active');
    } catch (refusal) {
      this.emit('error', refusal);
    }
    return GONE;
  }

  #onAnswer(answer: string, run: Run | undefined, isRemoved: boolean): void {
    this.#inFlight.answered();
    if (!run?.end) return;
    this.#hasEnded = true;
    if (answer !== '1') return void this.emit('error', refusalOf(-2, run.job.id!, 'moveToFinished'));
    const { job, end } = run;
    job.finishedOn = Date.now();
    if (end === 'completed') job.attemptsMade += 1;
    if (!job.isParent && keepOf(job, end, this.opts) === undefined) return this.#report(run);
    const settled = this.#settle(run, isRemoved && end === 'completed');
    void this.#inFlight.settle(settled.catch((error: unknown) => void this.emit('error', error)));
  }

  async #settle(run: Run, isRemoved: boolean): Promise<void> {
    if (!isRemoved) await applyRetention(run.job, run.end!, this.opts);
    this.#report(run);
    if (isRemoved) await this.#removed.add(run.job.id!);
  }

  #report({ job, end, value }: Run): void {
    if (this.listenerCount(end!) > 0) this.emit(end!, job, value, 'active');
    this.#reportDrained();
  }
}
