import type { RateLimitOptions } from '../operate/queue-limits.js';
import type { Queue } from '../queue.js';
import type { SettingsValues } from '../shard/settings-text.js';
import type { Counts, TaskMap } from '../task/task.js';

/** The settings of a queue with a value for each, as JSON needs them. */
export interface SettingsView {
  readonly name: string;
  readonly priorities: string[];
  readonly shards: number;
  readonly isPaused: boolean;
  /** Null: no limit. */
  readonly concurrency: number | null;
  readonly rate: RateLimitOptions | null;
  readonly groups: {
    readonly concurrency: number | null;
    readonly rate: RateLimitOptions | null;
    readonly isOrdered: boolean;
  };
  readonly maxTasks: number | null;
  readonly keepEvents: number;
}

export interface QueueView extends SettingsView {
  readonly counts: Counts;
  /** Active and ready tasks divided by the concurrency limit of the queue; null without a limit. */
  readonly load: number | null;
  /** How long ago the next task was enqueued, ms, by the clock of this process; null when none is ready. */
  readonly headAgeMs: number | null;
}

/** A queue's settings for a page, made from the result of `queue.settings()`. */
export function settingsView(name: string, values: SettingsValues): SettingsView {
  const { priorities, shards, isPaused, keepEvents } = values;
  return {
    name,
    priorities: [...priorities],
    shards,
    isPaused,
    concurrency: values.concurrency ?? null,
    rate: values.rate ?? null,
    groups: {
      concurrency: values.groupConcurrency ?? null,
      rate: values.groupRate ?? null,
      isOrdered: values.isOrdered,
    },
    maxTasks: values.maxTasks ?? null,
    keepEvents,
  };
}

/** A queue as a page shows it: settings, counts and load. Two round trips, and one for each further shard, read-only, O(log n). */
export async function queueView<Tasks extends TaskMap<Tasks>>(queue: Queue<Tasks>): Promise<QueueView> {
  const [values, counts, head] = await Promise.all([
    queue.settings(),
    queue.counts(),
    queue.summaries('ready', { limit: 1 }),
  ]);
  const settings = settingsView(queue.name, values);
  const { concurrency } = settings;
  const [next] = head.tasks as readonly { readonly enqueuedAt: number }[];
  return {
    ...settings,
    counts,
    load: concurrency === null ? null : (counts.active + counts.ready) / concurrency,
    headAgeMs: next ? Math.max(0, Date.now() - next.enqueuedAt) : null,
  };
}
