/**
 * What a worker does for a schedule that has fallen due. A pure function of what is stored and of the server's time, and
 * which tasks it makes follows from what is stored alone: a worker that takes over from one that died makes the same ones.
 * So `once` fires for the first missed instant; with the last one, the second worker would see a later one as the last.
 */
import type { Rule } from './rule.js';
import { nextInstant } from './rule.js';

/** `skip` drops what is later than this: more than a worker that dies while it fires can cost. */
export const MISSED_AFTER_MS = 60_000;
/** Instants in one round trip. */
export const MOST_AT_ONCE = 100;

export interface Plan {
  /** Instants that fire now. */
  readonly fire: readonly number[];
  /** When it falls due next; undefined: never again. */
  readonly nextAt: number | undefined;
}

/** `runs`: how often it has fired. `isBusy`: the task of the last instant has not ended. */
export function planRun(rule: Rule, dueAt: number, runs: number, now: number, isBusy = false): Plan {
  const { missed, overlap, limit = Infinity } = rule;
  // The clock of the server was set back.
  if (dueAt > now) return { fire: [], nextAt: dueAt };
  if (overlap === 'skip' && isBusy) return { fire: [], nextAt: nextInstant(rule, now) };
  if (missed === 'skip' && now - dueAt > MISSED_AFTER_MS) return { fire: [], nextAt: nextInstant(rule, now) };
  if (missed !== 'all') {
    const nextAt = runs + 1 < limit ? nextInstant(rule, Math.max(now, dueAt)) : undefined;
    return { fire: [dueAt], nextAt };
  }
  const fire: number[] = [];
  let at: number | undefined = dueAt;
  while (at !== undefined && at <= now && fire.length < Math.min(MOST_AT_ONCE, limit - runs)) {
    fire.push(at);
    at = nextInstant(rule, at);
  }
  return { fire, nextAt: runs + fire.length < limit ? at : undefined };
}
