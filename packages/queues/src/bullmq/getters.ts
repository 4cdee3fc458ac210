/** The getters of BullMQ's `Queue`. */
import { layerRate } from '../scripts.gen.js';
import type { SettingsValues } from '../shard/settings-text.js';
import { QueueBase } from './base.js';
import { Job } from './job.js';
import { manualLimitOf } from './manual-limit.js';
import * as moves from './moves.js';
import { decodeJobKey } from './job-keys.js';
import type { Present } from './presence.js';
import { presentOnes } from './presence.js';
import { prometheusText } from './prometheus.js';
import type { JobState, JobType } from './types.js';

const ALL: readonly JobType[] = [
  'active',
  'completed',
  'delayed',
  'failed',
  'prioritized',
  'waiting',
  'waiting-children',
];
const DEFAULT_EVENTS = 10_000;
export const LIBRARY = 'bullmq:mortise';
/** See task.rank.part.lua. */
const PRIORITY_STEP = 1_000;

export class QueueGetters extends QueueBase {
  protected async settings(): Promise<SettingsValues> {
    const { settings } = this.store.shards.first;
    await settings.learn(this.redis);
    return settings.values;
  }

  protected async configure(change: (values: SettingsValues) => SettingsValues): Promise<void> {
    await this.store.shards.first.configure(change);
  }

  getJob(jobId: string): Promise<Job | undefined> {
    return Job.fromId(this, jobId);
  }

  async getJobState(jobId: string): Promise<JobState | 'unknown'> {
    return (await this.store.get(jobId))?.state ?? 'unknown';
  }

  async getJobs(types?: JobType[] | JobType, start = 0, end = -1, asc = false): Promise<Job[]> {
    const ids = await this.getRanges(typesOf(types), start, end, asc);
    const jobs = await Promise.all(ids.map((id) => this.getJob(id)));
    return jobs.filter((job) => job !== undefined);
  }

  async getRanges(types: readonly JobType[], start = 0, end = 1, asc = false): Promise<string[]> {
    const ranges = await Promise.all(types.map((type) => this.store.range(stateOf(type), start, end, asc)));
    return [...new Set(ranges.flat())];
  }

  async getJobCounts(...types: JobType[]): Promise<Record<string, number>> {
    const wanted = typesOf(types);
    const counts = await Promise.all(wanted.map((type) => this.store.count(stateOf(type))));
    return Object.fromEntries(wanted.map((type, index) => [type, counts[index]!]));
  }

  async getJobCountByTypes(...types: JobType[]): Promise<number> {
    const counts = await this.getJobCounts(...types);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  /** The number of jobs that have not started. */
  count(): Promise<number> {
    return this.getJobCountByTypes('waiting', 'delayed', 'prioritized', 'waiting-children');
  }

  async getCountsPerPriority(priorities: readonly number[]): Promise<Record<string, number>> {
    const key = this.store.shards.first.keys.priorityKeys(2)[4]!;
    const counts = await Promise.all(
      [...new Set(priorities)].map(async (priority): Promise<[string, number]> => {
        if (priority === 0) return ['0', await this.store.count('waiting')];
        const from = priority * PRIORITY_STEP;
        const count = await this.store.command('ZCOUNT', key, from, `(${from + PRIORITY_STEP}`);
        return [String(priority), Number(count)];
      }),
    );
    return Object.fromEntries(counts);
  }

  getCompletedCount(): Promise<number> {
    return this.store.count('completed');
  }

  getFailedCount(): Promise<number> {
    return this.store.count('failed');
  }

  getDelayedCount(): Promise<number> {
    return this.store.count('delayed');
  }

  getActiveCount(): Promise<number> {
    return this.store.count('active');
  }

  getPrioritizedCount(): Promise<number> {
    return this.store.count('prioritized');
  }

  getWaitingCount(): Promise<number> {
    return this.store.count('waiting');
  }

  getWaitingChildrenCount(): Promise<number> {
    return this.store.count('waiting-children');
  }

  getWaiting(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['waiting'], start, end, true);
  }

  getWaitingChildren(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['waiting-children'], start, end, true);
  }

  getActive(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['active'], start, end, true);
  }

  getDelayed(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['delayed'], start, end, true);
  }

  getPrioritized(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['prioritized'], start, end, true);
  }

  getCompleted(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['completed'], start, end, false);
  }

  getFailed(start = 0, end = -1): Promise<Job[]> {
    return this.getJobs(['failed'], start, end, false);
  }

  async getJobLogs(
    jobId: string,
    start = 0,
    end = -1,
    asc = true,
  ): Promise<{ logs: string[]; count: number }> {
    const lines = await this.store.logs(jobId);
    const count = lines.length;
    const ordered = asc ? lines : lines.toReversed();
    return { logs: ordered.slice(start, end < 0 ? count + end + 1 : end + 1), count };
  }

  /** A page of the children of a job. */
  async getDependencies(
    parentId: string,
    type: 'processed' | 'pending',
    start: number,
    end: number,
  ): Promise<{ items: { id: string; v?: unknown }[]; jobs: object[]; total: number }> {
    const ends = Object.entries(await this.store.children(parentId)).filter(
      ([key, end_]) => !['#', '!', '@'].includes(key) && (type === 'pending') === (end_ === 'p'),
    );
    const page = ends.slice(start, end < 0 ? undefined : end + 1);
    const items = page.map(([id, end_]) =>
      type === 'pending' ? { id } : { id, v: JSON.parse(end_.slice(1)) as unknown },
    );
    const found = await Promise.all(page.map(([key]) => decodeJobKey(this, key)));
    const jobs = found.filter((job) => job !== undefined).map((job) => job.asJSON());
    return { items, jobs, total: ends.length };
  }

  getDeduplicationJobId(id: string): Promise<string | null> {
    return moves.deduplicationHolder(this.store, id);
  }

  async getGlobalConcurrency(): Promise<number | null> {
    return (await this.settings()).concurrency ?? null;
  }

  async getGlobalRateLimit(): Promise<{ max: number; duration: number } | null> {
    const { rate } = await this.settings();
    return rate ? { max: rate.limit, duration: rate.periodMs } : null;
  }

  async getRateLimitTtl(maxJobs?: number): Promise<number> {
    const manual = manualLimitOf(this.qualifiedName).until - Date.now();
    if (manual > 0) return manual;
    const { rate } = await this.settings();
    const reply = await layerRate.run(this.redis, this.store.shards.first.keys.of, {});
    if (!rate || reply === null) return -2;
    const left = Number(reply);
    const used = Math.ceil(left / (rate.periodMs / rate.limit));
    return used >= (maxJobs ?? rate.limit) ? Math.ceil(left) : 0;
  }

  async getMeta(): Promise<Record<string, unknown>> {
    const { isPaused, concurrency, rate, keepEvents } = await this.settings();
    return {
      paused: isPaused,
      ...(concurrency !== undefined && { concurrency }),
      ...(rate && { max: rate.limit, duration: rate.periodMs }),
      maxLenEvents: keepEvents || DEFAULT_EVENTS,
      version: LIBRARY,
    };
  }

  /** The open workers. A worker that died is listed for 45 s. */
  getWorkers(): Promise<Present[]> {
    return presentOnes(this.store, 'w');
  }

  async getWorkersCount(): Promise<number> {
    return (await this.getWorkers()).length;
  }

  /** Returns zeros, since a worker refuses the option `metrics`. */
  getMetrics(_type: 'completed' | 'failed'): Promise<{
    meta: { count: number; prevTS: number; prevCount: number };
    data: number[];
    count: number;
  }> {
    return Promise.resolve({ meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [], count: 0 });
  }

  exportPrometheusMetrics(labels?: Record<string, string>): Promise<string> {
    return prometheusText(this, labels);
  }

  /** The open `QueueEvents`, listed as by `getWorkers`. */
  getQueueEvents(): Promise<Present[]> {
    return presentOnes(this.store, 'qe');
  }
}

function stateOf(type: JobType): JobState {
  return type === 'wait' ? 'waiting' : (type as JobState);
}

function typesOf(types: JobType[] | JobType | undefined): readonly JobType[] {
  const given = typeof types === 'string' ? [types] : (types ?? []);
  return given.length > 0 ? [...new Set(given)] : ALL;
}
