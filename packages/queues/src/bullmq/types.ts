/** Options and shapes with the names of BullMQ 6. */
import type { RedisClient } from '@mortise/redis';

/** A client of ioredis, the options of one, or `{ url }`. */
export type ConnectionOptions = RedisClient | { readonly url?: string; readonly [option: string]: unknown };

export interface QueueBaseOptions {
  connection?: ConnectionOptions | undefined;
  /** Default `bull`. */
  prefix?: string | undefined;
  [option: string]: unknown;
}

export interface KeepJobs {
  /** Seconds. */
  age?: number | undefined;
  count?: number | undefined;
  limit?: number | undefined;
}

export interface BackoffOptions {
  type: string;
  delay?: number | undefined;
  jitter?: number | undefined;
}

export type BackoffStrategy = (
  attemptsMade: number,
  type?: string,
  error?: Error,
  // oxlint-disable-next-line typescript/no-explicit-any -- a parameter of code that moves
  job?: any,
) => Promise<number> | number;

export interface DeduplicationOptions {
  id: string;
  ttl?: number | undefined;
  extend?: boolean | undefined;
  replace?: boolean | undefined;
  keepLastIfActive?: boolean | undefined;
}

export interface ParentOptions {
  id: string;
  /** The qualified name of its queue, `prefix:name`. */
  queue: string;
}

export interface RepeatOptions {
  pattern?: string | undefined;
  every?: number | undefined;
  limit?: number | undefined;
  startDate?: Date | string | number | undefined;
  endDate?: Date | string | number | undefined;
  tz?: string | undefined;
  immediately?: boolean | undefined;
  offset?: number | undefined;
  count?: number | undefined;
  key?: string | undefined;
  [option: string]: unknown;
}

export interface JobsOptions {
  timestamp?: number | undefined;
  priority?: number | undefined;
  delay?: number | undefined;
  attempts?: number | undefined;
  backoff?: number | BackoffOptions | undefined;
  lifo?: boolean | undefined;
  jobId?: string | undefined;
  removeOnComplete?: boolean | number | KeepJobs | undefined;
  removeOnFail?: boolean | number | KeepJobs | undefined;
  keepLogs?: number | undefined;
  stackTraceLimit?: number | undefined;
  sizeLimit?: number | undefined;
  parent?: ParentOptions | undefined;
  deduplication?: DeduplicationOptions | undefined;
  failParentOnFailure?: boolean | undefined;
  continueParentOnFailure?: boolean | undefined;
  ignoreDependencyOnFailure?: boolean | undefined;
  removeDependencyOnFailure?: boolean | undefined;
  repeat?: RepeatOptions | undefined;
  repeatJobKey?: string | undefined;
  prevMillis?: number | undefined;
  [option: string]: unknown;
}

export type JobProgress = string | boolean | number | object;

export type FinishedStatus = 'completed' | 'failed';

export type JobState = FinishedStatus | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'waiting-children';

export type JobType = JobState | 'wait' | 'repeat';

export interface QueueOptions extends QueueBaseOptions {
  defaultJobOptions?: JobsOptions | undefined;
  streams?: { events?: { maxLen?: number } } | undefined;
  skipMetasUpdate?: boolean | undefined;
  settings?: AdvancedOptions | undefined;
}

export interface AdvancedOptions {
  backoffStrategy?: BackoffStrategy | undefined;
  repeatStrategy?: RepeatStrategy | undefined;
}

export type RepeatStrategy = (
  millis: number,
  options: RepeatOptions,
  name?: string,
) => number | undefined | Promise<number | undefined>;

export interface RateLimiterOptions {
  max: number;
  /** ms */
  duration: number;
}

export interface WorkerOptions extends QueueBaseOptions {
  name?: string | undefined;
  autorun?: boolean | undefined;
  concurrency?: number | undefined;
  limiter?: RateLimiterOptions | undefined;
  maximumRateLimitDelay?: number | undefined;
  maxStartedAttempts?: number | undefined;
  maxStalledCount?: number | undefined;
  stalledInterval?: number | undefined;
  removeOnComplete?: KeepJobs | undefined;
  removeOnFail?: KeepJobs | undefined;
  skipStalledCheck?: boolean | undefined;
  skipLockRenewal?: boolean | undefined;
  drainDelay?: number | undefined;
  lockDuration?: number | undefined;
  lockRenewTime?: number | undefined;
  runRetryDelay?: number | undefined;
  settings?: AdvancedOptions | undefined;
}

export interface RetryOptions {
  resetAttemptsMade?: boolean | undefined;
  resetAttemptsStarted?: boolean | undefined;
}
