/** Another library, as a migration knows it: where its jobs wait, and the task that a job becomes. */
import type { CommandArgument, RedisClient } from '@mortise/redis';
import { callRedis } from '@mortise/redis';
import type { EnqueueOptions } from '../options.js';
import type { ScheduledTaskOptions } from '../schedule/definition.js';
import type { ScheduleRule } from '../schedule/rule.js';

export type JobState = 'waiting' | 'prioritized' | 'delayed' | 'failed' | 'completed';

/** Where jobs of a state are. Of a list the last one is the next one. */
export interface Place {
  readonly state: JobState;
  readonly key: string;
  readonly type: 'list' | 'zset';
}

export interface NewTask {
  readonly name: string;
  readonly payload: unknown;
  readonly options: EnqueueOptions;
  /** Of a job that has ended; see migrate.end.lua. */
  readonly end?: { readonly state: 'D' | 'S'; readonly detail: string };
}

export interface NewSchedule {
  /** Of the job scheduler, and of the schedule. */
  readonly key: string;
  /** Undefined for one that has had all its runs. */
  readonly rule: ScheduleRule | undefined;
  readonly name: string;
  readonly payload: unknown;
  readonly options: ScheduledTaskOptions;
}

/** A job that was taken. */
export interface TakenJob {
  readonly id: string;
  readonly state: JobState;
  /** In its sorted set. */
  readonly score: number;
}

export interface Source {
  readonly redis: RedisClient;
  /** In the order in which a worker takes their jobs. */
  readonly places: readonly Place[];
  /** HASH of jobs that were taken and are not stored yet. Lies in the slot of the queue. */
  readonly onTheWay: string;
  /** ZSET that wakes idle workers of the library. */
  readonly marker: string;
  /** There while a worker has the job. */
  lockOf(id: string): string;
  /** Why each of these jobs can't be moved; undefined for those that can. */
  reasons(ids: readonly string[]): Promise<(string | undefined)[]>;
  /** The task of a job; undefined when its record is gone. Throws an Error for one that no task can be made of. */
  read(job: TakenJob): Promise<NewTask | undefined>;
  /** Deletes the records of jobs that are stored as tasks. */
  forget(ids: readonly string[]): Promise<void>;
  /** The keys of its schedules. */
  schedules(): Promise<string[]>;
  /** Ends a schedule, whose next job stays as one of its own. Returns what it was; undefined when it is gone. */
  takeSchedule(key: string): Promise<NewSchedule | undefined>;
  /** Puts one back that no schedule can be made of. */
  returnSchedule(key: string): Promise<void>;
  /** Deletes what `takeSchedule` has kept. */
  forgetSchedule(key: string): Promise<void>;
}

/** Keys of one slot are deleted at once. */
export async function unlink(redis: RedisClient, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await callRedis(redis, 'unlink', [...keys]);
}

export async function call<Reply>(
  redis: RedisClient,
  command: string,
  ...args: readonly CommandArgument[]
): Promise<Reply> {
  return (await callRedis(redis, command, [...args])) as Reply;
}

/** False also for a key that the record of a job has taken; see bullmq-source.ts. */
export async function isOfType(redis: RedisClient, key: string, type: Place['type']): Promise<boolean> {
  return (await call<string>(redis, 'type', key)) === type;
}
