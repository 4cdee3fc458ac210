/** A queue as the page shows it: the names are those of the HTTP service. */
import type { Counts, Queue, QueueLimits, RateLimitOptions } from '@mortise/queues';

import { present } from './given.js';

type StoredSettings = Awaited<ReturnType<Queue['settings']>>;

interface SettingsView extends Pick<StoredSettings, 'priorities' | 'shards' | 'isPaused' | 'keepEvents'> {
  readonly name: string;
  readonly concurrency: number | null;
  readonly rate: RateLimitOptions | null;
  readonly groups: {
    readonly concurrency: number | null;
    readonly rate: RateLimitOptions | null;
    readonly isOrdered: boolean;
  };
  readonly maxTasks: number | null;
}

export async function settingsOf(queue: Queue): Promise<SettingsView> {
  return settingsView(queue.name, await queue.settings());
}

function settingsView(name: string, values: StoredSettings): SettingsView {
  const { priorities, shards, isPaused, keepEvents } = values;
  return {
    name,
    priorities,
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

export async function queueView(queue: Queue): Promise<object> {
  const [settings, counts, head] = await Promise.all([
    settingsOf(queue),
    queue.counts(),
    queue.summaries('ready', { limit: 1 }),
  ]);
  const [next] = head.tasks;
  return {
    ...settings,
    counts,
    load: loadOf(settings, counts),
    headAgeMs: next ? Math.max(0, Date.now() - next.enqueuedAt) : null,
  };
}

function loadOf(
  { concurrency, shards }: Pick<SettingsView, 'concurrency' | 'shards'>,
  counts: Counts,
): number | null {
  return concurrency === null ? null : (counts.active + counts.ready) / (concurrency * shards);
}

/** The limits in a body; those that it leaves out are not there. */
export function limitsOf({
  concurrency,
  rate,
  groups,
  maxTasks,
  keepEvents,
}: Record<string, unknown>): QueueLimits {
  const { isOrdered, ...ofGroups } = (groups ?? {}) as Record<string, unknown>;
  const ordered = isOrdered === undefined ? {} : { ordered: isOrdered };
  return present({
    concurrency,
    rate,
    maxTasks,
    keepEvents,
    groups: groups === undefined ? undefined : { ...ofGroups, ...ordered },
  }) as QueueLimits;
}
