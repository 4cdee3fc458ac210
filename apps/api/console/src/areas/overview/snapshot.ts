/** The overview as the API has it. */
import type { TaskState } from '../queues/states.ts';

export interface QueueFigures {
  readonly name: string;
  readonly counts: Readonly<Record<TaskState, number>>;
  readonly headAgeMs: number | null;
  readonly isPaused: boolean;
}

export interface Snapshot {
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  /** How many of them the sums have. */
  readonly counted: number;
  readonly sums: {
    readonly counts: Readonly<Record<TaskState, number>>;
    readonly perSecond: { readonly succeeded: number | null; readonly dead: number };
    readonly paused: number;
    readonly oldest: { readonly name: string; readonly headAgeMs: number } | null;
    readonly deadliest: { readonly name: string; readonly dead: number } | null;
  };
  readonly workers: number | null;
  /** The first queues. */
  readonly queues: readonly QueueFigures[];
}
