/** How long tasks waited and ran, by the last events of their queue. */
import type { QueueEvent } from '../events/event.js';

/** Durations, ms: half, 5 % and 1 % of the tasks took longer. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface TaskTimes {
  /** Runs among the events, from their start to their end. */
  readonly count: number;
  /** The time from the enqueue, or from the instant at which the task became due, to its start. Null without such a task. */
  readonly wait: Percentiles | null;
  /** The time from the start of an attempt to its end. Null without such a task. */
  readonly run: Percentiles | null;
}

const ENDS: ReadonlySet<string> = new Set(['succeeded', 'dead', 'retrying']);

/**
 * How long the tasks of these events waited and ran. O(events).
 *
 * @param events The oldest first, as `queue.lastEvents` returns them. A task whose beginning is older than all of them doesn't count.
 */
export function taskTimes(events: readonly QueueEvent[]): TaskTimes {
  const [enqueued, started] = [new Map<string, number>(), new Map<string, number>()];
  const [waits, runs] = [[] as number[], [] as number[]];
  for (const { type, id, at } of events) {
    if (id === undefined) continue;
    if (type === 'enqueued' || type === 'ready') enqueued.set(id, at);
    else if (type === 'started') {
      const since = enqueued.get(id);
      if (since !== undefined) waits.push(at - since);
      enqueued.delete(id);
      started.set(id, at);
    } else if (ENDS.has(type)) {
      const since = started.get(id);
      if (since !== undefined) runs.push(at - since);
      started.delete(id);
    }
  }
  return { count: runs.length, wait: percentilesOf(waits), run: percentilesOf(runs) };
}

function percentilesOf(values: number[]): Percentiles | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]!;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
