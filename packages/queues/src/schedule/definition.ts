/**
 * A schedule as stored in the hash `schedules`: a binary head for scripts, then the definition as JSON, opaque to them.
 *
 *   f64 due at (ms; 0: ended) · f64 last fired for (ms; 0: never) · f64 runs · f64 defined at (server time, µs)
 *
 * Each change compares the head with the one that the caller has read, and is refused if they differ.
 */
import { InvalidScheduleError } from '../errors.js';
import type { EnqueueOptions } from '../options.js';
import type { Rule } from './rule.js';
import { resolveRule } from './rule.js';

/** Options of the tasks of a schedule. Their ids and times follow from the schedule. */
export type ScheduledTaskOptions = Omit<EnqueueOptions, 'id' | 'delayMs' | 'runAt' | 'dedupMs'>;

export interface Definition {
  readonly rule: Rule;
  readonly name: string;
  readonly payload: unknown;
  readonly options: ScheduledTaskOptions;
}

export interface StoredSchedule extends Definition {
  /** ms since the epoch; 0: ended. */
  readonly dueAt: number;
  /** The last instant for which tasks were enqueued; 0: none. */
  readonly lastAt: number;
  readonly runs: number;
  readonly definedAt: number;
}

export const HEAD_BYTES = 32;
const VERSION = 1;

export function encodeDefinition({ rule, name, payload, options }: Definition): string {
  return JSON.stringify({ version: VERSION, rule, name, payload, options });
}

/** Throws InvalidScheduleError for a definition that this version cannot read. */
export function decodeSchedule(key: string, stored: Buffer): StoredSchedule {
  if (stored.length < HEAD_BYTES) throw new InvalidScheduleError(key, 'the stored schedule has no head');
  return {
    dueAt: stored.readDoubleBE(0),
    lastAt: stored.readDoubleBE(8),
    runs: stored.readDoubleBE(16),
    definedAt: stored.readDoubleBE(24),
    ...decodeDefinition(key, stored.toString('utf8', HEAD_BYTES)),
  };
}

function decodeDefinition(key: string, json: string): Definition {
  let found: Partial<Definition> & { version?: unknown };
  try {
    found = Object(JSON.parse(json)) as typeof found;
  } catch {
    throw new InvalidScheduleError(key, 'the stored schedule is not JSON');
  }
  const { version, rule, name, payload, options } = found;
  if (version !== VERSION) {
    throw new InvalidScheduleError(
      key,
      `it is stored in version ${String(version)}; this release reads version ${VERSION}`,
    );
  }
  if (typeof name !== 'string') throw new InvalidScheduleError(key, 'the stored schedule has no task name');
  return { rule: resolveRule(key, rule!), name, payload, options: options ?? {} };
}

/** The id of the task of an instant. All workers make the same id, so the task is stored once. */
export function taskIdOf(key: string, instant: number): string {
  return `${key}@${new Date(instant).toISOString()}`;
}

/** The options with which a schedule enqueues its task for an instant. */
export function taskOptionsOf(key: string, instant: number, options: ScheduledTaskOptions): EnqueueOptions {
  const at = new Date(instant).toISOString();
  return {
    ...options,
    id: taskIdOf(key, instant),
    dedupMs: DEDUP_MS,
    headers: { ...options.headers, 'schedule-key': key, 'schedule-instant': at },
  };
}

/** Ids are refused for this time. A worker that has lost its lease may enqueue late, but never this late. */
const DEDUP_MS = 3_600_000;
