/** Answers of the API about queues and tasks, as far as the page shows them. */
import type { TaskState } from './states.ts';

export interface QueueView {
  readonly name: string;
  readonly priorities: readonly string[];
  readonly shards: number;
  readonly isPaused: boolean;
  readonly concurrency: number | null;
  readonly rate: { readonly limit: number; readonly periodMs: number } | null;
  readonly maxTasks: number | null;
  readonly counts: Readonly<Record<TaskState, number>>;
  readonly load: number | null;
  readonly headAgeMs: number | null;
}

interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack: string;
}

export interface TaskSummary {
  readonly id: string;
  readonly name: string;
  readonly state: TaskState;
  readonly priority: string;
  readonly group?: string;
  readonly attempt: number;
  readonly attempts: number;
  readonly enqueuedAt: number;
  readonly runAt?: number;
  readonly leaseUntil?: number;
  readonly expiresAt?: number;
  readonly finishedAt?: number;
  readonly error?: TaskError;
  readonly progress?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parent?: { readonly queue: string; readonly id: string };
}

/** An event of a task. */
export interface TaskEvent {
  readonly type: string;
  readonly at: number;
  readonly attempt?: number;
  /** The name of an event for the task: a delivery, or one for which it waits. */
  readonly event?: string;
  readonly error?: { readonly name: string; readonly message: string };
}

export interface TaskEvents extends Pick<Times, 'hasEvents'> {
  readonly items: readonly TaskEvent[];
}

export interface TaskView extends TaskSummary {
  readonly payload?: unknown;
  /** The beginning of a payload that was cut. */
  readonly payloadText?: string;
  readonly payloadBytes?: number;
  readonly result?: unknown;
  readonly resultText?: string;
  readonly resultBytes?: number;
  readonly logs?: readonly { readonly at: number; readonly text: string }[];
  readonly steps?: readonly { readonly at: number; readonly name: string }[];
  /** The event for which it waits, until `runAt`. */
  readonly waitsFor?: string;
}

export interface Times {
  /** False: the events of the queue are off, and this session may not switch them on. */
  readonly hasEvents: boolean;
  readonly count: number;
  readonly wait: Percentiles | null;
  readonly run: Percentiles | null;
}

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface Schedule {
  readonly key: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly everyMs?: number;
  readonly name: string;
  readonly nextAt?: number;
  readonly lastAt?: number;
  readonly runs: number;
  readonly problem?: string;
}
