import type { EnqueueOptions } from './options.js';
import { decodeRecord } from './record.js';

/**
 * Names of tasks and the types of their payloads, such as `{ 'mail.sold': { itemId: string } }`. Payloads travel as
 * JSON, so a Date arrives as a string and undefined fields don't arrive.
 */
export type TaskMap<Tasks> = { [Name in keyof Tasks]: unknown };

export type TaskState = 'scheduled' | 'ready' | 'active' | 'retrying' | 'succeeded' | 'dead';

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
  readonly headers: Readonly<Record<string, string>>;
  /** The attempt that runs or ran last; 0 before the first. */
  readonly attempt: number;
  /** How many attempts it has altogether. */
  readonly attempts: number;
  /** Instants in ms since the epoch, by the clock of the server. */
  readonly enqueuedAt: number;
  /** When a scheduled or retrying task falls due. */
  readonly runAt?: number;
  /** When the lease of an active task ends unless it is renewed. */
  readonly leaseUntil?: number;
  readonly finishedAt?: number;
  /** What the handler returned, when the task succeeded. */
  readonly result?: unknown;
  /** Why the last attempt failed, unless the task runs again or has succeeded. */
  readonly error?: string;
}

/** A task as `Queue.get` shows it. */
export type Task<Tasks> = {
  [Name in keyof Tasks & string]: TaskFields & { readonly name: Name; readonly payload: Tasks[Name] };
}[keyof Tasks & string];

/** Reads the reply of queue.get.lua. */
export function readTask<Tasks>(id: string, priorities: readonly string[], reply: Buffer[]): Task<Tasks> {
  const [stored, state, instant, last] = reply as [Buffer, Buffer, Buffer, Buffer];
  const record = decodeRecord(stored);
  const fields = {
    id,
    name: record.name,
    payload: JSON.parse(record.payload) as unknown,
    headers: record.extras.headers ?? {},
    state: state.toString() as TaskState,
    priority: priorities[record.lane] ?? String(record.lane),
    attempt: 0,
    attempts: record.attempts,
    enqueuedAt: record.enqueuedAt,
    ...(instant.length > 0 && { [fieldOfInstant(state.toString())]: Number(instant.toString()) }),
    ...readLastAttempt(last),
  };
  return fields as unknown as Task<Tasks>;
}

function fieldOfInstant(state: string): 'leaseUntil' | 'runAt' {
  return state === 'active' ? 'leaseUntil' : 'runAt';
}

/** One character of state, then what worker.exchange.lua says of the hash `attempts`. */
function readLastAttempt(last: Buffer): object {
  if (last.length === 0) return {};
  const state = String.fromCharCode(last.readUInt8(0));
  if (state === 'A') return { attempt: last.readUInt16BE(5) };
  const attempt = last.readUInt16BE(9);
  const text = last.toString('utf8', 11);
  if (state === 'R') return { attempt, ...(text !== '' && { error: text }) };
  const finishedAt = last.readDoubleBE(1);
  if (state === 'D') return { attempt, finishedAt, error: text };
  return { attempt, finishedAt, ...(text !== '' && { result: JSON.parse(text) as unknown }) };
}
