import type { EnqueueOptions } from '../options.js';
import type { LogLine } from './log-lines.js';
import { readLogLines } from './log-lines.js';
import { decodeRecord } from './record.js';

/**
 * Names of tasks and the types of their payloads, such as `{ 'mail.sold': { itemId: string } }`. Payloads travel as
 * JSON, so a Date arrives as a string and undefined fields don't arrive.
 */
export type TaskMap<Tasks> = { [Name in keyof Tasks]: unknown };

/** In the order in which a console would show them. `waiting`: for its children. */
export const TASK_STATES = [
  'scheduled',
  'ready',
  'active',
  'retrying',
  'succeeded',
  'dead',
  'cancelled',
  'waiting',
] as const;

export type TaskState = (typeof TASK_STATES)[number];

export type Counts = Readonly<Record<TaskState, number>>;

/** One item of `enqueueMany`. */
export type NewTask<Tasks> = {
  [Name in keyof Tasks & string]: {
    readonly name: Name;
    readonly payload: Tasks[Name];
    readonly options?: EnqueueOptions;
  };
}[keyof Tasks & string];

interface TaskFields {
  readonly id: string;
  readonly state: TaskState;
  readonly priority: string;
  readonly group?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The attempt that runs or ran last; 0 before the first. */
  readonly attempt: number;
  /** How many attempts it has altogether. */
  readonly attempts: number;
  /** How long an attempt may take, ms. */
  readonly timeoutMs?: number;
  /**
   * Instants in ms since the epoch, by the clock of the server. When it was enqueued (sent, by what the client knows of that
   * clock: right to 20 ms), or retried after it had ended.
   */
  readonly enqueuedAt: number;
  /** When a scheduled or retrying task falls due; the end of a delay, which is kept to the µs, is rounded up. */
  readonly runAt?: number;
  /** Not started after that for the first time. */
  readonly expiresAt?: number;
  /** When the lease of an active task ends unless it is renewed. */
  readonly leaseUntil?: number;
  /** When it succeeded, died or was cancelled. */
  readonly finishedAt?: number;
  /** Why the last attempt failed, unless the task runs again or has succeeded; why it was cancelled. */
  readonly error?: string;
  /** What the handler told last by `ctx.progress`. */
  readonly progress?: unknown;
  /** The task that waits for this one. */
  readonly parent?: { readonly queue: string; readonly id: string };
}

interface TaskDetails {
  /** What the handler returned, when the task succeeded. */
  readonly result?: unknown;
  /** What handlers wrote by `ctx.log`; only `get` has it. */
  readonly logs?: readonly LogLine[];
}

/** A task without its payload and result. */
export type TaskSummary<Tasks> = TaskFields & { readonly name: keyof Tasks & string };

/** A task as `Queue.get` shows it. */
export type Task<Tasks> = {
  [Name in keyof Tasks & string]: TaskFields &
    TaskDetails & { readonly name: Name; readonly payload: Tasks[Name] };
}[keyof Tasks & string];

/** A task as scripts tell of it; empty for what it doesn't have. */
export interface StoredTask {
  /** May end before the payload. */
  readonly record: Buffer;
  readonly state: TaskState;
  /** When the lease of an active task ends, when a scheduled or retrying one falls due. */
  readonly instant: Buffer;
  /** One character of state, then what worker.exchange.lua says of the hash `attempts`. */
  readonly last: Buffer;
  /** JSON. */
  readonly progress: Buffer;
  /** As worker.note.lua writes them. */
  readonly logs?: Buffer;
}

export function readTask<Tasks>(id: string, priorities: readonly string[], stored: StoredTask): Task<Tasks> {
  const { state, instant, last, progress, logs } = stored;
  const { name, payload, extras, priorityIndex, group, attempts, enqueuedAt } = decodeRecord(stored.record);
  const { timeoutMs, expiresInMs, parent } = extras;
  const fields = {
    id,
    name,
    ...(payload !== '' && { payload: JSON.parse(payload) as unknown }),
    headers: extras.headers ?? {},
    state,
    priority: priorities[priorityIndex] ?? String(priorityIndex),
    ...(group !== undefined && { group }),
    attempt: 0,
    attempts,
    ...(timeoutMs !== undefined && { timeoutMs }),
    enqueuedAt,
    ...(expiresInMs !== undefined && { expiresAt: enqueuedAt + expiresInMs }),
    ...(instant.length > 0 && {
      [state === 'active' ? 'leaseUntil' : 'runAt']: Math.ceil(Number(instant.toString())),
    }),
    ...readLastAttempt(last),
    ...(progress.length > 0 && { progress: JSON.parse(progress.toString()) as unknown }),
    ...(parent && { parent }),
    ...(logs && logs.length > 0 && { logs: readLogLines(logs.toString()) }),
  };
  return fields as unknown as Task<Tasks>;
}

function readLastAttempt(last: Buffer): object {
  if (last.length === 0) return {};
  const state = String.fromCharCode(last.readUInt8(0));
  if (state === 'A') return { attempt: last.readUInt16BE(5) };
  const attempt = last.readUInt16BE(9);
  const text = last.toString('utf8', 11);
  const finishedAt = last.readDoubleBE(1);
  if (state === 'S') {
    return { attempt, finishedAt, ...(text !== '' && { result: JSON.parse(text) as unknown }) };
  }
  if (state === 'D') return { attempt, finishedAt, error: text };
  const error = text !== '' && { error: text };
  if (state === 'C') return { attempt, finishedAt, ...error };
  // Waits: in its group (Q), for its children (W), for its next attempt (R, H).
  return state === 'Q' || state === 'W' ? { attempt } : { attempt, ...error };
}
