/**
 * A schedule as the hash `schedules` holds it: a head that scripts read and write, and behind it the definition as JSON,
 * which is bytes to them.
 *
 *   f64 due at (ms; 0: it has ended) · f64 last fired for (ms; 0: never) · f64 runs · f64 defined at (µs, by the server)
 *
 * Every change of a schedule is made only if the head is what the caller has seen.
 */
import { InvalidScheduleError } from '../errors.js';
import type { EnqueueOptions } from '../options.js';
import type { Rule } from './rule.js';
import { resolveRule } from './rule.js';

/** Options of the tasks that a schedule makes. Their ids follow from the schedule, and they may run at once. */
export type ScheduledTaskOptions = Omit<EnqueueOptions, 'id' | 'delayMs' | 'runAt' | 'dedupMs'>;

export interface Definition {
  readonly rule: Rule;
  readonly name: string;
  readonly payload: unknown;
  readonly options: ScheduledTaskOptions;
}

export interface StoredSchedule extends Definition {
  /** 0: it has ended. */
  readonly dueAt: number;
  /** The last instant that it fired for; 0: never. */
  readonly lastAt: number;
  readonly runs: number;
  readonly definedAt: number;
}

export const HEAD_BYTES = 32;
const VERSION = 1;

export function encodeDefinition({ rule, name, payload, options }: Definition): string {
  return JSON.stringify({ version: VERSION, rule, name, payload, options });
}

/** Throws InvalidScheduleError for what this version cannot read. */
export function decodeSchedule(key: string, stored: Buffer): StoredSchedule {
  if (stored.length < HEAD_BYTES) throw new InvalidScheduleError(key, 'what is stored has no head');
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
    throw new InvalidScheduleError(key, 'what is stored is no JSON');
  }
  const { version, rule, name, payload, options } = found;
  if (version !== VERSION) {
    throw new InvalidScheduleError(
      key,
      `it is stored in version ${String(version)}, known is version ${VERSION}`,
    );
  }
  if (typeof name !== 'string') throw new InvalidScheduleError(key, 'what is stored has no task name');
  return { rule: resolveRule(key, rule!), name, payload, options: options ?? {} };
}

/** The task of one instant: the same id whoever makes it, so that it is stored once. */
export function taskIdOf(key: string, instant: number): string {
  return `${key}@${new Date(instant).toISOString()}`;
}

/** How a schedule enqueues its task for an instant. */
export function taskOptionsOf(key: string, instant: number, options: ScheduledTaskOptions): EnqueueOptions {
  const at = new Date(instant).toISOString();
  return {
    ...options,
    id: taskIdOf(key, instant),
    dedupMs: REMEMBERED_MS,
    headers: { ...options.headers, 'schedule-key': key, 'schedule-instant': at },
  };
}

/** Longer than any reply of a worker that has lost its claim can come late, whatever is retained of finished tasks. */
const REMEMBERED_MS = 3_600_000;
