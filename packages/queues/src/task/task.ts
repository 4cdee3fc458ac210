/**
 * A task is one record in one hash. Its state follows from the place of its id and from `attempts`, which has its last attempt:
 *
 *   enqueue ──► ready ──────────► active ──► succeeded
 *    │ │          ▲ ▲               │ │ │
 *    │ └► scheduled │ (when due)    │ │ └──► dead        no attempts left, Discard, no handler
 *    │              │               │ └────► retrying    failed, RetryLater
 *    ▼              └─── when due ──┼───────────┘
 *   waiting             └─── lease ended, given back, no handler in this worker
 *      its children have ended: ready, or dead with them
 *
 *   cancel: from any state on the left and from active to cancelled; retry: from dead and cancelled to ready
 *
 * No step moves due tasks from the schedule to the ready list: workers fetch due tasks from the schedule itself. So no task is
 * lost or late between two steps, and counts are exact at every instant. docs/ARCHITECTURE.md says which script makes which arrow.
 * Rejected: a hash for each task (663 bytes, here about 200), and a stream (no priorities, no cancellation in the middle).
 */
import type { Codecs } from '@mortise/redis';
import { readJson } from '@mortise/redis';
import type { EnqueueOptions } from '../options.js';
import type { LogLine } from './log-lines.js';
import { readLogLines } from './log-lines.js';
import type { TaskStep } from './task-step.js';
import { awaitedEvent } from './awaited-event.js';
import { readSteps } from './task-step.js';
import { decodeRecord } from './record.js';
import type { TaskError } from '../task-error.js';
import type { PayloadOf, ResultOf } from '../task-types.js';
import { readError } from './stored-error.js';

/**
 * The names of tasks and the types of their payloads, such as `{ 'mail.sold': { itemId: string } }`. The longer form also has
 * the type of the result: `{ 'order.total': { payload: { orderId: string }; result: number } }`. Payloads and results travel as
 * JSON, so a Date arrives as a string and undefined fields don't arrive. A payload whose only fields are `payload` and `result`
 * needs the longer form.
 */
export type TaskMap<Tasks> = { [Name in keyof Tasks]: unknown };

/** The states in display order. A task in the state `waiting` waits for its children. */
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
    readonly payload: PayloadOf<Tasks, Name>;
    readonly options?: EnqueueOptions | undefined;
  };
}[keyof Tasks & string];

interface TaskFields {
  readonly id: string;
  readonly state: TaskState;
  readonly priority: string;
  readonly group?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The running or last attempt; 0 before the first. */
  readonly attempt: number;
  /** The maximum of attempts. */
  readonly attempts: number;
  /** Time limit of an attempt, ms. */
  readonly timeoutMs?: number;
  /**
   * When the task was enqueued, or retried after its end, ms since the epoch by the server's clock. The client estimates that
   * clock to 20 ms.
   */
  readonly enqueuedAt: number;
  /** When a scheduled or retrying task is due, ms since the epoch, rounded up from µs. */
  readonly runAt?: number;
  /** The first attempt does not start after this instant, ms since the epoch. */
  readonly expiresAt?: number;
  /** When the lease of an active task ends, unless renewed. */
  readonly leaseUntil?: number;
  /** When the task succeeded, died or was cancelled. */
  readonly finishedAt?: number;
  /** The event for which `ctx.waitFor` waits, while the task is retrying. `runAt` is the end of the wait. */
  readonly waitsFor?: string;
  /** Why the last attempt failed, until the task runs again or has succeeded; or why the task was cancelled. */
  readonly error?: TaskError;
  /** The last value of `ctx.progress`. */
  readonly progress?: unknown;
  /** The task that waits for this one. */
  readonly parent?: { readonly queue: string; readonly id: string };
}

interface TaskDetails<Result> {
  /** The handler's result, if the task succeeded. */
  readonly result?: Result;
  /** Lines of `ctx.log`; only `get` returns them. */
  readonly logs?: readonly LogLine[];
  /** The stored steps of `ctx.step`, in the order of their ends; only `get` returns them, without their results. */
  readonly steps?: readonly TaskStep[];
}

/** A task without its payload and result. */
export type TaskSummary<Tasks> = TaskFields & { readonly name: keyof Tasks & string };

/** A task as `Queue.get` shows it. */
export type Task<Tasks> = {
  [Name in keyof Tasks & string]: TaskFields &
    TaskDetails<ResultOf<Tasks, Name>> & { readonly name: Name; readonly payload: PayloadOf<Tasks, Name> };
}[keyof Tasks & string];

/** A task as scripts return it; absent parts are empty. */
export interface StoredTask {
  /** May be cut off in the payload. */
  readonly record: Buffer;
  readonly state: TaskState;
  /** When the lease of an active task ends, or a scheduled or retrying one is due. */
  readonly instant: Buffer;
  /** One character of state, then the rest of the entry of `attempts`, see fetcher.fetch-and-ack.lua. */
  readonly last: Buffer;
  /** JSON. */
  readonly progress: Buffer;
  /** See heartbeater.report.lua. */
  readonly logs?: Buffer;
  /** See queue.get.lua. */
  readonly steps?: Buffer;
}

/** @param parse Reads the JSON of payload and result. */
export function readTask<Tasks>(
  id: string,
  priorities: readonly string[],
  stored: StoredTask,
  codecs: Codecs | undefined,
  parse?: (json: string) => unknown,
): Task<Tasks> {
  const { state, instant, last, progress, logs, steps } = stored;
  const { name, payload, extras, priorityIndex, group, attempts, enqueuedAt } = decodeRecord(stored.record);
  const { timeoutMs, expiresInMs, parent } = extras;
  const fields = {
    id,
    name,
    ...(payload !== '' && { payload: readJson(payload, codecs, parse) }),
    headers: extras.headers ?? {},
    state,
    priority: priorities[priorityIndex] ?? String(priorityIndex),
    ...(group !== undefined && { group }),
    attempt: 0,
    attempts,
    ...(timeoutMs !== undefined && { timeoutMs }),
    enqueuedAt,
    ...(expiresInMs !== undefined && { expiresAt: enqueuedAt + expiresInMs }),
    ...(instant.length > 0 &&
      state !== 'ready' && {
        [state === 'active' ? 'leaseUntil' : 'runAt']: Math.ceil(Number(instant.toString())),
      }),
    ...readLastAttempt(last, state === 'retrying', (text) => readJson(text, codecs, parse)),
    ...(progress.length > 0 && { progress: JSON.parse(progress.toString()) as unknown }),
    ...(parent && { parent }),
    ...(logs && logs.length > 0 && { logs: readLogLines(logs.toString()) }),
    ...(steps && steps.length > 0 && { steps: readSteps(steps) }),
  };
  return fields as unknown as Task<Tasks>;
}

function readLastAttempt(last: Buffer, isRetrying: boolean, read: (text: string) => unknown): object {
  if (last.length === 0) return {};
  const state = String.fromCharCode(last.readUInt8(0));
  if (state === 'A') return { attempt: last.readUInt16BE(5) };
  const attempt = last.readUInt16BE(9);
  const text = last.toString('utf8', 11);
  const finishedAt = last.readDoubleBE(1);
  if (state === 'S') {
    return { attempt, finishedAt, ...(text !== '' && { result: read(text) }) };
  }
  const error = text !== '' && { error: readError(text, state === 'C') };
  if (state === 'D') return { attempt, finishedAt, ...error };
  if (state === 'C') return { attempt, finishedAt, ...error };
  const waitsFor = awaitedEvent(text);
  if (waitsFor !== undefined) return { attempt, ...(isRetrying && { waitsFor }) };
  // Waiting in its group (Q), for its children (W), or for its next attempt (R, H).
  return state === 'Q' || state === 'W' ? { attempt } : { attempt, ...error };
}
