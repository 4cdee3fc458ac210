/* oxlint-disable typescript/no-explicit-any -- the defaults of BullMQ: code that moves has jobs of any data */
/** A queue with the options and calls of BullMQ 6. */
import { QueueInUseError } from '../errors.js';
import { setPaused } from '../operate/configure.js';
import { obliterate } from '../removal/obliteration.js';
import { BullmqUnsupportedError } from './errors.js';
import { LIBRARY, QueueGetters } from './getters.js';
import { Job } from './job.js';
import type { JobSchedulerJson } from './job-scheduler.js';
import { JobScheduler } from './job-scheduler.js';
import { manualLimitOf } from './manual-limit.js';
import * as moves from './moves.js';
import { removeJob } from './removing.js';
import type {
  FinishedStatus,
  JobProgress,
  JobsOptions,
  JobState,
  QueueOptions,
  RepeatOptions,
} from './types.js';

const MOST = 1_000;
const DEFAULT_EVENTS = 10_000;
const LACKING: Readonly<Record<string, string>> = { telemetry: 'use the telemetry of the engine' };

interface AddedJob<Data, Name> {
  name: Name;
  data: Data;
  opts?: JobsOptions | undefined;
}

export class Queue<Data = any, Result = any, Name extends string = string> extends QueueGetters {
  declare opts: QueueOptions;
  readonly token: string;
  jobsOpts: JobsOptions;
  #scheduler: JobScheduler | undefined;

  constructor(name: string, opts: QueueOptions = {}) {
    for (const [option, instead] of Object.entries(LACKING)) {
      if (opts[option] !== undefined)
        throw new BullmqUnsupportedError(`the queue's option ${option}`, instead);
    }
    super(name, { ...opts });
    this.token = crypto.randomUUID();
    this.jobsOpts = opts.defaultJobOptions ?? {};
  }

  get defaultJobOptions(): JobsOptions {
    return { ...this.jobsOpts };
  }

  /** Dashboards such as Bull Board recognize a queue of BullMQ by `version`. */
  get metaValues(): Record<string, string | number> {
    return { 'opts.maxLenEvents': this.opts.streams?.events?.maxLen ?? DEFAULT_EVENTS, version: LIBRARY };
  }

  getVersion(): Promise<string | null> {
    return Promise.resolve(this.opts.skipMetasUpdate ? null : LIBRARY);
  }

  get jobScheduler(): Promise<JobScheduler> {
    this.#scheduler ??= new JobScheduler(this);
    return Promise.resolve(this.#scheduler);
  }

  async add(name: Name, data: Data, opts: JobsOptions = {}): Promise<Job<Data, Result, Name>> {
    const { jobId } = opts;
    if (jobId === '0' || jobId?.startsWith('0:')) throw new Error("JobId cannot be '0' or start with '0:'");
    requireNoRepeat(opts);
    const job = await Job.create<Data, Result, Name>(this, name, data, { ...this.jobsOpts, ...opts });
    this.emit('waiting', job);
    return job;
  }

  addBulk(jobs: readonly AddedJob<Data, Name>[]): Promise<Job<Data, Result, Name>[]> {
    for (const { opts } of jobs) requireNoRepeat(opts ?? {});
    const merged = jobs.map(({ name, data, opts }) => ({ name, data, opts: { ...this.jobsOpts, ...opts } }));
    return Job.createBulk<Data, Result, Name>(this, merged);
  }

  async upsertJobScheduler(
    id: string,
    repeat: RepeatOptions,
    template: { name?: Name; data?: Data; opts?: JobsOptions } = {},
  ): Promise<Job<Data, Result, Name> | undefined> {
    const { name = id as Name, data = {} as Data, opts } = template;
    const scheduler = await this.jobScheduler;
    const job = await scheduler.upsert(id, repeat, name, data, { ...this.jobsOpts, ...opts });
    return job as Job<Data, Result, Name> | undefined;
  }

  async getJobScheduler(id: string): Promise<JobSchedulerJson | undefined> {
    return (await this.jobScheduler).get(id);
  }

  async getJobSchedulers(start?: number, end?: number, asc?: boolean): Promise<JobSchedulerJson[]> {
    return (await this.jobScheduler).list(start, end, asc);
  }

  async getJobSchedulersCount(): Promise<number> {
    return (await this.jobScheduler).count();
  }

  async removeJobScheduler(id: string): Promise<boolean> {
    return (await this.jobScheduler).remove(id);
  }

  async pause(): Promise<void> {
    await setPaused(this.store.shards, true);
    this.emit('paused');
  }

  async resume(): Promise<void> {
    await setPaused(this.store.shards, false);
    this.emit('resumed');
  }

  async isPaused(): Promise<boolean> {
    return (await this.settings()).isPaused;
  }

  async isMaxed(): Promise<boolean> {
    const { concurrency } = await this.settings();
    return concurrency !== undefined && (await this.store.count('active')) >= concurrency;
  }

  async setGlobalConcurrency(concurrency: number): Promise<void> {
    await this.configure((values) => ({ ...values, concurrency }));
  }

  async removeGlobalConcurrency(): Promise<void> {
    await this.configure((values) => ({ ...values, concurrency: undefined }));
  }

  async setGlobalRateLimit(max: number, duration: number): Promise<void> {
    const rate = { limit: max, periodMs: duration, burst: max };
    await this.configure((values) => ({ ...values, rate }));
  }

  async removeGlobalRateLimit(): Promise<void> {
    await this.configure((values) => ({ ...values, rate: undefined }));
  }

  rateLimit(expireTimeMs: number): Promise<void> {
    manualLimitOf(this.qualifiedName).limit(expireTimeMs);
    return Promise.resolve();
  }

  async removeRateLimitKey(): Promise<number> {
    const limit = manualLimitOf(this.qualifiedName);
    const wasLimited = limit.until > Date.now();
    limit.lift();
    const removed = Number(await this.store.command('DEL', this.store.shards.first.keys.of.rate));
    return wasLimited ? 1 : removed;
  }

  async remove(jobId: string, { removeChildren = true } = {}): Promise<number> {
    if (!(await removeJob(this.store, jobId, removeChildren))) return 0;
    this.emit('removed', jobId);
    return 1;
  }

  async updateJobProgress(jobId: string, progress: JobProgress): Promise<void> {
    await moves.setProgress(this.store, jobId, progress);
    this.emit('progress', jobId, progress);
  }

  addJobLog(jobId: string, line: string, keepLogs?: number): Promise<number> {
    return Job.addJobLog(this, jobId, line, keepLogs);
  }

  async removeDeduplicationKey(id: string): Promise<number> {
    return (await moves.freeDeduplication(this.store, id, '')) ? 1 : 0;
  }

  /** Removes the jobs that wait. With `delayed` it also removes jobs with a delay, except the next jobs of job schedulers. */
  async drain(delayed = false): Promise<void> {
    const states: JobState[] = ['waiting', 'prioritized', ...(delayed ? (['delayed'] as const) : [])];
    for (let removed = 1; removed > 0;) {
      removed = 0;
      for (const state of states) {
        const ids = await this.store.range(state, 0, -1, true);
        const done = await Promise.all(ids.map((id) => this.#removeUnlessScheduled(id)));
        // A parent whose children are removed waits no longer.
        removed += done.filter(Boolean).length;
      }
    }
  }

  /** Removes no active jobs, and none as `paused`: the jobs of a paused queue wait, also in BullMQ 6. */
  async clean(
    grace: number,
    limit: number,
    type: JobState | 'paused' | 'wait' = 'completed',
  ): Promise<string[]> {
    const state = type === 'wait' ? 'waiting' : type;
    const before = Date.now() - grace;
    const removed: string[] = [];
    for (const id of state === 'active' || state === 'paused'
      ? []
      : await this.store.range(state, 0, -1, true)) {
      if (limit > 0 && removed.length >= limit) break;
      const stored = await this.store.get(id);
      if (!stored) continue;
      const at = stored.finishedOn ?? (stored.details.t ?? stored.enqueuedAt) + (stored.details.d ?? 0);
      if (at > before) continue;
      if (await this.#removeUnlessScheduled(id)) removed.push(id);
    }
    await this.store.publish('', { event: 'cleaned', count: String(removed.length) });
    this.emit('cleaned', removed, type === 'waiting' ? 'wait' : type);
    return removed;
  }

  async #removeUnlessScheduled(id: string): Promise<boolean> {
    try {
      return await removeJob(this.store, id, true);
    } catch (error) {
      if ((error as { code?: number }).code === -8) return false;
      throw error;
    }
  }

  async obliterate({ force = false }: { force?: boolean; count?: number } = {}): Promise<void> {
    await this.pause();
    if (!force && (await this.store.count('active')) > 0) {
      throw new Error('Cannot obliterate queue with active jobs');
    }
    const parents = await this.store.range('waiting-children', 0, -1, true);
    await Promise.all(parents.map((id) => this.store.forget(id)));
    const ids = Number(await this.store.command('HGET', this.store.layerKeys.layerMeta, 'ids'));
    try {
      // Idle workers don't matter to BullMQ.
      await obliterate(this.redis, this.name, this.store.prefix, { force: true });
    } catch (error) {
      if (error instanceof QueueInUseError)
        throw new Error('Cannot obliterate queue with active jobs', { cause: error });
      throw error;
    }
    this.store.shards.forget();
    if (ids > 0) await this.store.keepIds(ids);
  }

  async retryJobs({
    count = MOST,
    state = 'failed',
    timestamp = Date.now(),
  }: { count?: number; state?: FinishedStatus; timestamp?: number } = {}): Promise<void> {
    for (;;) {
      const ids = await this.store.range(state, 0, count - 1, true);
      const jobs = await Promise.all(ids.map((id) => this.getJob(id)));
      const due = jobs.filter((job) => job && (job.finishedOn ?? 0) <= timestamp);
      await Promise.all(due.map((job) => moves.retry(this.store, job!, state, {})));
      if (due.length < count) return;
    }
  }

  async promoteJobs({ count = MOST }: { count?: number } = {}): Promise<void> {
    for (;;) {
      const ids = await this.store.range('delayed', 0, count - 1, true);
      const jobs = await Promise.all(ids.map((id) => this.getJob(id)));
      for (const job of jobs) if (job) await moves.promote(this.store, job);
      if (ids.length < count) return;
    }
  }

  async trimEvents(maxLength: number): Promise<number> {
    return Number(
      await this.store.command('XTRIM', this.store.shards.first.keys.of.events, 'MAXLEN', maxLength),
    );
  }

  override async close(): Promise<void> {
    if (!this.closing) this.emit('closing', 'closing queue');
    await super.close();
  }
}

function requireNoRepeat({ repeat }: JobsOptions): void {
  if (repeat !== undefined) {
    throw new BullmqUnsupportedError('the option repeat of add', 'use upsertJobScheduler');
  }
}
