/* oxlint-disable typescript/no-explicit-any -- the defaults of BullMQ: code that moves has jobs of any data */
/** A job with the fields and calls of BullMQ 6. */
import { backoffDelay } from './backoffs.js';
import { isUnrecoverable, messageOf, refusalOf } from './errors.js';
import type { Dependencies, DependenciesOptions } from './dependencies.js';
import { countDependencies, listDependencies, valuesOf } from './dependencies.js';
import type { Lock } from './locks.js';
import { childKeyOf, reportEnd, requireChildrenEnded } from './family.js';
import type { JobHost } from './host.js';
import { addJob } from './adding.js';
import { dropLock, lockOf } from './locks.js';
import { removeJob } from './removing.js';
import { JobFields } from './job-fields.js';
import type { StoredJob } from './stored-job.js';
import { checkOptions } from './job-options.js';
import * as moves from './moves.js';
import { delayOf, frontOf, placeOf } from './places.js';
import type {
  FinishedStatus,
  JobProgress,
  JobsOptions,
  JobState,
  RetryOptions,
  WorkerOptions,
} from './types.js';
import type { EventsLike } from './wait-for-end.js';
import { waitForEnd } from './wait-for-end.js';

const DEFAULT_KEEP_LOGS = 1_000;
/** A token that BullMQ doesn't check. */
export const NO_CHECK = '0';
/** Stack traces of a job, and characters of each. */
const MAX_TRACES = 10;
const MAX_TRACE = 2_000;

export class Job<Data = any, Result = any, Name extends string = string> extends JobFields<
  Data,
  Result,
  Name
> {
  static async create<D = any, R = any, N extends string = string>(
    queue: JobHost,
    name: N,
    data: D,
    opts?: JobsOptions,
  ): Promise<Job<D, R, N>> {
    const job = new Job<D, R, N>(queue, name, data, opts, opts?.jobId || undefined);
    checkOptions(job);
    await addJob(job);
    return job;
  }

  static async createBulk<D = any, R = any, N extends string = string>(
    queue: JobHost,
    jobs: readonly { name: N; data: D; opts?: JobsOptions | undefined }[],
  ): Promise<Job<D, R, N>[]> {
    const made = jobs.map(
      ({ name, data, opts }) => new Job<D, R, N>(queue, name, data, opts, opts?.jobId || undefined),
    );
    for (const job of made) checkOptions(job);
    await Promise.all(made.map((job) => addJob(job)));
    return made;
  }

  static async fromId<D = any, R = any, N extends string = string>(
    queue: JobHost,
    jobId: string,
  ): Promise<Job<D, R, N> | undefined> {
    if (!jobId) return undefined;
    const stored = await queue.store.get(jobId);
    return stored && Job.fromStored<D, R, N>(queue, stored);
  }

  static fromStored<D = any, R = any, N extends string = string>(
    queue: JobHost,
    stored: StoredJob,
    data = JSON.parse(stored.data) as D,
  ): Job<D, R, N> {
    const { details, state } = stored;
    const { o, pa } = details;
    const job = new Job<D, R, N>(queue, stored.name as N, data, o, stored.id, stored.enqueuedAt);
    const ended = state === 'completed' ? 1 : 0;
    const running = state === 'active' ? 1 : 0;
    job.delay = details.d ?? 0;
    job.priority = details.p ?? 0;
    job.timestamp = details.t ?? stored.enqueuedAt;
    job.repeatJobKey = details.r;
    job.attemptsMade = (details.a ?? 0) + ended;
    job.attemptsStarted = (details.s ?? 0) + ended + running;
    job.stalledCounter = details.sc ?? 0;
    job.stacktrace = [...(details.st ?? [])];
    job.hasChildren = details.c === 1;
    job.parent = pa;
    job.parentKey = pa && `${pa.queueKey}:${pa.id}`;
    if (stored.finishedOn !== undefined) job.finishedOn = stored.finishedOn;
    if (details.po !== undefined) job.processedOn = details.po;
    if (details.pb !== undefined) job.processedBy = details.pb;
    if (details.fr !== undefined) job.failedReason = details.fr;
    if (stored.progress !== undefined) job.progress = JSON.parse(stored.progress);
    if (stored.returnvalue) job.returnvalue = JSON.parse(stored.returnvalue) as R;
    return job;
  }

  async updateData(data: Data): Promise<void> {
    this.data = data;
    const json = JSON.stringify(data === undefined ? {} : data);
    if (!(await this.queue.store.setData(this.id!, json))) throw refusalOf(-1, this.id!, 'updateData');
  }

  async updateProgress(progress: JobProgress): Promise<void> {
    this.progress = progress;
    await moves.setProgress(this.queue.store, this.id!, progress);
    this.queue.emit('progress', this, progress);
  }

  log(line: string): Promise<number> {
    return Job.addJobLog(this.queue, this.id!, line, this.opts.keepLogs);
  }

  static async addJobLog(queue: JobHost, jobId: string, line: string, keepLogs?: number): Promise<number> {
    const count = await queue.store.log(jobId, line, keepLogs || DEFAULT_KEEP_LOGS);
    if (count < 0) throw refusalOf(-1, jobId, 'addLog');
    return count;
  }

  clearLogs(keepLogs = 0): Promise<void> {
    return this.queue.store.clearLogs(this.id!, keepLogs);
  }

  async remove({ removeChildren = true } = {}): Promise<void> {
    if (!(await removeJob(this.queue.store, this.id!, removeChildren))) {
      throw new Error(`Job ${this.id} could not be removed because it is locked by another worker`);
    }
    this.queue.emit('removed', this);
  }

  async removeChildDependency(): Promise<boolean> {
    if (!this.parent) return false;
    const isRemoved = await reportEnd(this, { outcome: 'x' }, 'removeChildDependency');
    if (!isRemoved) return false;
    await this.queue.store.setDetails(this.id!, ({ pa: _pa, ...others }) => others);
    this.parent = undefined;
    this.parentKey = undefined;
    return true;
  }

  async removeUnprocessedChildren(): Promise<void> {
    const { unprocessed } = await listDependencies(this, { unprocessed: {} });
    for (const key of unprocessed ?? []) {
      const { store, id } = this.queue.storeOfKey(key);
      await removeJob(store, id, true, true);
    }
  }

  async extendLock(token: string, duration: number): Promise<number> {
    const lock = this.#lock;
    if (!lock || (lock.token !== token && token !== NO_CHECK)) return 0;
    return (await moves.renew(this.queue.store, this.id!, lock.lease, duration)) ? 1 : 0;
  }

  getState(): Promise<JobState | 'unknown'> {
    return this.queue.store.get(this.id!).then((stored) => stored?.state ?? 'unknown');
  }

  isCompleted(): Promise<boolean> {
    return this.#isIn('completed');
  }

  isFailed(): Promise<boolean> {
    return this.#isIn('failed');
  }

  isDelayed(): Promise<boolean> {
    return this.#isIn('delayed');
  }

  isWaitingChildren(): Promise<boolean> {
    return this.#isIn('waiting-children');
  }

  isActive(): Promise<boolean> {
    return this.#isIn('active');
  }

  isWaiting(): Promise<boolean> {
    return this.#isIn('waiting');
  }

  async changeDelay(delay: number): Promise<void> {
    await moves.changeDelay(this.queue.store, this, delay);
    this.delay = delay;
  }

  async changePriority({ priority = 0, lifo = false }: { priority?: number; lifo?: boolean }): Promise<void> {
    await moves.changePriority(this.queue.store, this, priority, lifo);
    this.priority = priority;
  }

  async promote(): Promise<void> {
    await moves.promote(this.queue.store, this);
    this.delay = 0;
  }

  async retry(state: FinishedStatus = 'failed', options: RetryOptions = {}): Promise<void> {
    await moves.retry(this.queue.store, this, state, options);
    this.failedReason = null as unknown as string;
    this.finishedOn = null;
    this.processedOn = null;
    this.returnvalue = null as Result;
    if (options.resetAttemptsMade) this.attemptsMade = 0;
    if (options.resetAttemptsStarted) this.attemptsStarted = 0;
  }

  async moveToDelayed(timestamp: number, token?: string): Promise<void> {
    const delay = Math.max(0, timestamp - Date.now());
    await this.leave(delay > 0 ? delayOf(delay, this.priority) : this.#place(), token, 'moveToDelayed', {
      event: 'delayed',
      delay: Date.now() + delay,
    });
    this.delay = delay;
  }

  async moveToWait(token?: string): Promise<number> {
    const event = { event: 'waiting', prev: 'active' };
    await this.leave(frontOf(this.priority), token, 'moveJobFromActiveToWait', event);
    return 0;
  }

  async moveToWaitingChildren(
    token: string,
    { child }: { child?: { id: string; queue: string } } = {},
  ): Promise<boolean> {
    const { store } = this.queue;
    if (child) {
      const ends = await store.children(this.id!);
      if (ends[`${child.queue}:${child.id}`] !== 'p') {
        if (!this.#lock) throw refusalOf(-3, this.id!, 'moveToWaitingChildren', 'active');
        return false;
      }
    }
    this.hasChildren = true;
    const where = `W${placeOf(this.priority, true)}`;
    return this.leave(where, token, 'moveToWaitingChildren', { event: 'waiting-children' });
  }

  /** Moves the job from active. Resolves to false when the job has no child to wait for. */
  async leave(where: string, token: string | undefined, command: string, event: object): Promise<boolean> {
    const lock = this.#lock;
    const isHeld = lock && (token === undefined || token === NO_CHECK || lock.token === token);
    const code = !isHeld
      ? await this.#withoutLock(lock !== undefined, token)
      : await this.queue.store.leave(this.id!, lock.lease, where, this.details, event);
    if (code < 0) throw refusalOf(code, this.id!, command, 'active');
    if (lock && code === 1) {
      lock.isMoved = true;
      dropLock(this.queueQualifiedName, lock);
    }
    return code === 1;
  }

  async #withoutLock(isOther: boolean, token: string | undefined): Promise<number> {
    const stored = await this.queue.store.get(this.id!);
    if (!stored) return -1;
    if (isOther) return -6;
    return stored.state !== 'active' && (token === undefined || token === NO_CHECK) ? -3 : -2;
  }

  /** Completes the job outside of a processor; see `Worker.getNextJob`. Resolves to the next job, with its id. */
  async moveToCompleted(value: Result, token: string, fetchNext = true): Promise<any[] | void> {
    const json = JSON.stringify(value);
    await this.queue.store.ready();
    this.returnvalue = (value || undefined) as Result;
    await this.#requireEnded();
    await this.reportToParent({ outcome: 's', value: json ?? 'null' });
    const finishedOn = await this.queue.endByHand(this, token, { verdict: 'S', value });
    this.finishedOn = finishedOn;
    this.attemptsMade += 1;
    return this.queue.nextByHand(token, fetchNext);
  }

  /** Fails the job outside of a processor. The job runs again if it has attempts left. */
  async moveToFailed(error: Error, token: string, fetchNext = false): Promise<any[] | void> {
    const isFinal = await this.fail(error, token);
    if (isFinal) this.finishedOn = await this.queue.endByHand(this, token, { verdict: 'D', error });
    return this.queue.nextByHand(token, fetchNext);
  }

  /**
   * Counts a failed attempt. Moves the job to its next attempt, or stores why it fails: then the caller ends it. Resolves to whether it
   * was the last attempt.
   */
  async fail(error: Error, token: string): Promise<boolean> {
    this.failedReason = messageOf(error);
    const delay = await this.#retryDelay(error);
    this.#addTrace(error);
    this.attemptsMade += 1;
    if (delay >= 0) {
      try {
        const event =
          delay > 0 ? { event: 'delayed', delay: Date.now() + delay } : { event: 'waiting', prev: 'active' };
        const where = delay > 0 ? delayOf(delay, this.priority) : this.#place();
        if (delay > 0) this.delay = delay;
        await this.leave(where, token, delay > 0 ? 'moveToDelayed' : 'retryJob', event);
      } catch (refusal) {
        this.attemptsMade -= 1;
        throw refusal;
      }
      return false;
    }
    const { details } = this;
    if (!(await this.queue.store.setDetails(this.id!, () => details))) {
      throw refusalOf(-1, this.id!, 'moveToFinished');
    }
    if (this.attemptsMade >= (this.opts.attempts || 1)) {
      const { store } = this.queue;
      await store.publish(this.id!, { event: 'retries-exhausted', attemptsMade: String(this.attemptsMade) });
    }
    await this.reportToParent({ outcome: 'f', value: this.failedReason });
    return true;
  }

  /** Tells its parent of its end. */
  async reportToParent(end: { outcome: 's' | 'f'; value: string }): Promise<void> {
    if (!this.parent) return;
    const { fpof, rdof, idof, cpof } = this.parent;
    if (end.outcome === 's') await reportEnd(this, end, 'moveToFinished');
    else if (fpof) {
      await reportEnd(this, { ...end, reason: `child ${childKeyOf(this)} failed` }, 'moveToFinished');
    } else if (cpof) await reportEnd(this, { ...end, outcome: 'i', goesOn: true }, 'moveToFinished');
    else if (idof) await reportEnd(this, { ...end, outcome: 'i' }, 'moveToFinished');
    else if (rdof) await reportEnd(this, { outcome: 'x' }, 'moveToFinished');
  }

  async waitUntilFinished(queueEvents: EventsLike, ttl?: number): Promise<Result> {
    return waitForEnd(this, queueEvents, ttl) as Promise<Result>;
  }

  getDependencies(options: DependenciesOptions = {}): Promise<Dependencies> {
    return listDependencies(this, options);
  }

  getDependenciesCount(
    options: Partial<Record<'failed' | 'ignored' | 'processed' | 'unprocessed', boolean>> = {},
  ): Promise<Partial<Record<'failed' | 'ignored' | 'processed' | 'unprocessed', number>>> {
    return countDependencies(this, options);
  }

  getChildrenValues<Value = any>(): Promise<Record<string, Value>> {
    return valuesOf<Value>(this, 's');
  }

  getIgnoredChildrenFailures(): Promise<Record<string, string>> {
    return valuesOf(this, 'i');
  }

  getFailedChildrenValues(): Promise<Record<string, string>> {
    return valuesOf(this, 'i');
  }

  async removeDeduplicationKey(): Promise<boolean> {
    if (this.deduplicationId === undefined) return false;
    return moves.freeDeduplication(this.queue.store, this.deduplicationId, this.id!);
  }

  async discard(): Promise<void> {
    throw refusalOf(-3, this.id!, 'discard');
  }

  async #isIn(state: JobState): Promise<boolean> {
    return (await this.getState()) === state;
  }

  get #lock(): Lock | undefined {
    return lockOf(this.queueQualifiedName, this.id!);
  }

  #place(): string {
    return placeOf(this.priority, this.opts.lifo);
  }

  /** -1: it does not run again. */
  async #retryDelay(error: Error): Promise<number> {
    if (this.attemptsMade + 1 >= (this.opts.attempts ?? 0) || isUnrecoverable(error)) return -1;
    const { settings } = this.queue.opts as WorkerOptions;
    return backoffDelay(this, this.attemptsMade + 1, error, settings?.backoffStrategy);
  }

  #addTrace(error: Error): void {
    const { stackTraceLimit = MAX_TRACES } = this.opts;
    const traces = [...(this.stacktrace ?? [])];
    if (error?.stack) traces.push(error.stack.slice(0, MAX_TRACE));
    this.stacktrace = stackTraceLimit === 0 ? [] : traces.slice(-stackTraceLimit);
  }

  async #requireEnded(): Promise<void> {
    if (this.hasChildren) await requireChildrenEnded(this);
  }
}
