/**
 * The tasks of a due schedule, and when it is due next: a pure function of the stored schedule and the server's time. The
 * tasks follow from the stored schedule alone, so a worker that takes over from a dead one makes the same ones. That is why
 * `once` fires for the first missed instant: the last one would be a later one for the second worker.
 */
import type { Rule } from './rule.js';
import { nextInstant } from './rule.js';

/** `skip` drops instants that are later than this. It is longer than the delay that a worker causes by dying during a run. */
export const MISSED_AFTER_MS = 60_000;
/** Instants in one round trip. */
export const MOST_AT_ONCE = 100;

export interface Plan {
  /** Instants to enqueue now. */
  readonly fire: readonly number[];
  /** When the schedule is due next; undefined: never again. */
  readonly nextAt: number | undefined;
}

/** `runs`: instants so far. `isBusy`: the task of the last instant has not ended. */
export function planRun(rule: Rule, dueAt: number, runs: number, now: number, isBusy = false): Plan {
  const { missed, overlap, maxRuns = Infinity } = rule;
  // The server's clock was set back.
  if (dueAt > now) return { fire: [], nextAt: dueAt };
  if (overlap === 'skip' && isBusy) return { fire: [], nextAt: nextInstant(rule, now) };
  if (missed === 'skip' && now - dueAt > MISSED_AFTER_MS) return { fire: [], nextAt: nextInstant(rule, now) };
  if (missed !== 'all') {
    const nextAt = runs + 1 < maxRuns ? nextInstant(rule, Math.max(now, dueAt)) : undefined;
    return { fire: [dueAt], nextAt };
  }
  const fire: number[] = [];
  let at: number | undefined = dueAt;
  while (at !== undefined && at <= now && fire.length < Math.min(MOST_AT_ONCE, maxRuns - runs)) {
    fire.push(at);
    at = nextInstant(rule, at);
  }
  return { fire, nextAt: runs + fire.length < maxRuns ? at : undefined };
}
