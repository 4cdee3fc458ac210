/**
 * Every refusal of this package, with those of workers and handlers in `worker-errors.ts` and of bulk operations in
 * `admin/errors.ts`. A class of its own exists where a caller acts differently; its `code` tells cases apart.
 * docs/queues/reference/errors.md shows the comments.
 */
import { CodedError, LeaseLostError } from '@mortise/redis';
import type { TaskError } from './task-error.js';
import { taskOf } from './task-of.js';

export {
  AttemptError,
  CallFailedError,
  DeliveryError,
  Discard,
  EventTimeoutError,
  RetryLater,
  SandboxExitedError,
  StepError,
  WorkerError,
} from './worker-errors.js';

/** Why a payload does not fit its schema. */
export interface PayloadIssue {
  readonly message: string;
  /** The place in the payload; empty for the whole of it. */
  readonly path: readonly (string | number)[];
}

/**
 * The payload can't be stored. Workers also report it for a stored payload that doesn't fit its schema; that task is
 * dead.
 *
 * @code ERR_INVALID_PAYLOAD The payload is not JSON (undefined, NaN, a function, a Map, BigInt, a cycle), is nested
 * too deeply, or doesn't fit its schema.
 * @remedy Correct the payload: `issues` name the places.
 * @code ERR_PAYLOAD_TOO_LARGE The payload has more than `maxPayloadBytes`.
 * @remedy Store the data elsewhere and enqueue its key, or raise `maxPayloadBytes`.
 */
export class InvalidPayloadError extends CodedError {
  static override readonly className: string = 'InvalidPayloadError';
  readonly code: 'ERR_INVALID_PAYLOAD' | 'ERR_PAYLOAD_TOO_LARGE';
  /** The problems found by the schema. */
  readonly issues: readonly PayloadIssue[];
  /** Set for a stored task; undefined for a new one. */
  readonly taskId: string | undefined;
  /** The size, if the payload is too large. */
  readonly bytes: number | undefined;
  readonly maxBytes: number | undefined;

  constructor(
    readonly taskName: string,
    reason: string,
    details: {
      readonly issues?: readonly PayloadIssue[];
      readonly taskId?: string | undefined;
      readonly bytes?: number;
      readonly maxBytes?: number;
    } = {},
  ) {
    const code = details.bytes === undefined ? 'ERR_INVALID_PAYLOAD' : 'ERR_PAYLOAD_TOO_LARGE';
    super(`the payload of task ${JSON.stringify(taskName)} ${reason}`, undefined, code);
    this.code = code;
    this.issues = details.issues ?? [];
    this.taskId = details.taskId;
    this.bytes = details.bytes;
    this.maxBytes = details.maxBytes;
  }
}

/**
 * The queue exists with other settings than this instance was given.
 *
 * @code ERR_PRIORITIES_MISMATCH The queue has other priorities.
 * @remedy Pass the stored ones, or none.
 * @code ERR_SHARDS_MISMATCH The queue has another number of shards.
 * @remedy Pass the stored number, or none.
 */
export class SettingsMismatchError extends CodedError {
  static override readonly className: string = 'SettingsMismatchError';
  readonly code: 'ERR_PRIORITIES_MISMATCH' | 'ERR_SHARDS_MISMATCH';

  constructor(
    readonly queue: string,
    setting: 'priorities' | 'shards',
    readonly wanted: readonly string[] | number,
    readonly stored: readonly string[] | number,
  ) {
    const [is, not] = [stored, wanted].map((value) => (typeof value === 'number' ? value : value.join(', ')));
    const code = setting === 'priorities' ? 'ERR_PRIORITIES_MISMATCH' : 'ERR_SHARDS_MISMATCH';
    const what = setting === 'priorities' ? `the priorities ${is}` : `${is} shards`;
    super(`queue ${JSON.stringify(queue)} has ${what}, not ${not}`, undefined, code);
    this.code = code;
  }
}

/**
 * The id belongs to a task with another name or payload, or to the root of a flow with other children. The id given to a child
 * of a flow may also be taken. Nothing was stored except `stored`.
 *
 * @remedy Choose another `id`, or enqueue the same payload.
 */
export class TaskConflictError extends CodedError {
  static override readonly className: string = 'TaskConflictError';
  readonly code = 'ERR_TASK_CONFLICT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    /** Ids that other script calls of the same `enqueueMany` have stored. */
    readonly stored: readonly string[] = [],
    what = 'with another name or payload',
  ) {
    super(
      `queue ${JSON.stringify(queue)} has a task ${JSON.stringify(taskId)} ${what}`,
      undefined,
      'ERR_TASK_CONFLICT',
    );
  }
}

/**
 * Redis has no memory left and evicts nothing; `cause` is its reply. Nothing was stored except `stored`. Workers go on.
 *
 * @remedy Enqueue later: workers free memory. Give Redis more.
 */
export class MemoryFullError extends CodedError {
  static override readonly className: string = 'MemoryFullError';
  readonly code = 'ERR_MEMORY_FULL';

  constructor(
    readonly queue: string,
    override readonly cause: Error,
    /** Ids that other script calls of the same `enqueueMany` have stored. */
    readonly stored: readonly string[] = [],
  ) {
    super(
      `queue ${JSON.stringify(queue)} takes no tasks: Redis has no memory left`,
      undefined,
      'ERR_MEMORY_FULL',
    );
  }

  /** Settles as `call` does, except that it replaces an out-of-memory error of Redis with this one. */
  static async wrap<T>(queue: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      const isFull = error instanceof Error && error.message.startsWith('OOM ');
      throw isFull ? new MemoryFullError(queue, error) : error;
    }
  }
}

/**
 * `runAt` is more than a minute ago, by the clock of the caller. A time in seconds, passed as ms, is also in the past.
 *
 * @remedy Pass ms since the epoch, not seconds.
 */
export class RunAtPastError extends CodedError {
  static override readonly className: string = 'RunAtPastError';
  readonly code = 'ERR_RUN_AT_PAST';

  constructor(readonly runAt: number) {
    super(
      `runAt must not be in the past, got ${new Date(runAt).toISOString()}`,
      undefined,
      'ERR_RUN_AT_PAST',
    );
  }
}

/**
 * The queue holds `maxTasks` tasks, retained ones included, or has no room for a whole flow. Nothing was stored
 * except `stored`.
 *
 * @remedy Enqueue later, `clean` ended tasks, or raise `maxTasks`.
 */
export class QueueFullError extends CodedError {
  static override readonly className: string = 'QueueFullError';
  readonly code = 'ERR_QUEUE_FULL';

  constructor(
    readonly queue: string,
    readonly maxTasks: number,
    /** Ids that other script calls of the same `enqueueMany` have stored. */
    readonly stored: readonly string[] = [],
  ) {
    super(
      `queue ${JSON.stringify(queue)} is full: it may hold ${maxTasks} tasks`,
      undefined,
      'ERR_QUEUE_FULL',
    );
  }
}

/**
 * `obliterate` without `force`: tasks of the queue are active, or workers wait for tasks. Nothing was removed from
 * that shard.
 *
 * @remedy Stop the workers, or pass `force`.
 */
export class QueueInUseError extends CodedError {
  static override readonly className: string = 'QueueInUseError';
  readonly code = 'ERR_QUEUE_IN_USE';

  constructor(
    readonly queue: string,
    /** Tasks that are active. */
    readonly active: number,
    /** Idle workers and waiting claims. */
    readonly workers: number,
  ) {
    super(
      `queue ${JSON.stringify(queue)} is in use: ${active} active tasks, ${workers} idle workers; stop its workers, or use force`,
      undefined,
      'ERR_QUEUE_IN_USE',
    );
  }
}

/**
 * No task has this id, or the task is no longer retained.
 *
 * @remedy Check the id. Raise `keepSucceeded` to keep results for longer.
 */
export class TaskNotFoundError extends CodedError {
  static override readonly className: string = 'TaskNotFoundError';
  readonly code = 'ERR_TASK_NOT_FOUND';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(
      `queue ${JSON.stringify(queue)} has no task ${JSON.stringify(taskId)}`,
      undefined,
      'ERR_TASK_NOT_FOUND',
    );
  }
}

/**
 * A running task can't be removed.
 *
 * @remedy `cancel` it, then remove it.
 */
export class TaskActiveError extends CodedError {
  static override readonly className: string = 'TaskActiveError';
  readonly code = 'ERR_TASK_ACTIVE';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(`${taskOf(queue, taskId)} is active: cancel it first`, undefined, 'ERR_TASK_ACTIVE');
  }
}

/**
 * The task was cancelled. The aborted signal has this error as its reason, and `result` rejects with it.
 *
 * @remedy Stop the work.
 */
export class TaskCancelledError extends CodedError {
  static override readonly className: string = 'TaskCancelledError';
  readonly code = 'ERR_TASK_CANCELLED';
  /** The reason that `cancel` was given. Only the error of `result` has it. */
  declare readonly reason?: string;

  constructor(
    readonly queue: string,
    readonly taskId: string,
    reason = '',
  ) {
    super(
      `${taskOf(queue, taskId)} was cancelled${reason === '' ? '' : `: ${reason}`}`,
      undefined,
      'ERR_TASK_CANCELLED',
    );
    if (reason !== '') this.reason = reason;
  }
}

/**
 * The task is dead: `result` rejects with this error. `error`, and its message `reason`, say why the last attempt failed.
 *
 * @remedy Read `error`, repair the cause, and `retry` the task.
 */
export class TaskDeadError extends CodedError {
  static override readonly className: string = 'TaskDeadError';
  readonly code = 'ERR_TASK_DEAD';
  readonly reason: string;

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly error: TaskError,
  ) {
    super(`${taskOf(queue, taskId)} is dead: ${error.message.split('\n', 1)[0]}`, undefined, 'ERR_TASK_DEAD');
    this.reason = error.message;
  }
}

/**
 * The task had not ended within `waitMs`. `cause` is the error of the last recheck, if it failed.
 *
 * @remedy Call `result` again: the task still runs or waits.
 */
export class ResultTimeoutError extends CodedError {
  static override readonly className: string = 'ResultTimeoutError';
  readonly code = 'ERR_RESULT_TIMEOUT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly waitMs: number,
    options?: ErrorOptions,
  ) {
    super(`${taskOf(queue, taskId)} had not ended after ${waitMs} ms`, options, 'ERR_RESULT_TIMEOUT');
  }
}

/**
 * `idle`: the queue still had tasks to run after `waitMs`. `cause` names the task that it waited for.
 *
 * @remedy Look at the task that `cause` names, or raise `waitMs`.
 */
export class IdleTimeoutError extends CodedError {
  static override readonly className: string = 'IdleTimeoutError';
  readonly code = 'ERR_IDLE_TIMEOUT';

  constructor(
    readonly queue: string,
    readonly waitMs: number,
    cause?: ResultTimeoutError,
  ) {
    super(
      `queue ${JSON.stringify(queue)} was not idle after ${waitMs} ms`,
      cause && { cause },
      'ERR_IDLE_TIMEOUT',
    );
  }
}

/**
 * The tree of tasks can't be a flow. It is too deep, has too many tasks or bytes, repeats an id, or gives children an option
 * that they can't have.
 *
 * @remedy Split the flow, or leave the option out.
 */
export class InvalidFlowError extends CodedError {
  static override readonly className: string = 'InvalidFlowError';
  readonly code = 'ERR_INVALID_FLOW';

  constructor(
    readonly queue: string,
    reason: string,
  ) {
    super(`the flow of queue ${JSON.stringify(queue)} ${reason}`, undefined, 'ERR_INVALID_FLOW');
  }
}

/**
 * The schedule can't be stored.
 *
 * @code ERR_INVALID_SCHEDULE The rule has a malformed cron, an unknown time zone or a period below a second. Workers
 * report a stored schedule that can't be read or run, and try it again in an hour.
 * @remedy Correct the rule: the message names the part.
 * @code ERR_TOO_MANY_SCHEDULES The queue has 10,000 schedules.
 * @remedy `unschedule` those that you no longer need, or use several queues.
 */
export class InvalidScheduleError extends CodedError {
  static override readonly className: string = 'InvalidScheduleError';
  constructor(
    readonly key: string,
    reason: string,
    readonly code: 'ERR_INVALID_SCHEDULE' | 'ERR_TOO_MANY_SCHEDULES' = 'ERR_INVALID_SCHEDULE',
  ) {
    super(`schedule ${JSON.stringify(key)}: ${reason}`, undefined, code);
  }
}

/** The lease of a task is lost (ERR_LEASE_LOST). Another worker has the task, or will fetch it. */
export type TaskLeaseLostError = LeaseLostError & { readonly queue: string; readonly taskId: string };

/**
 * The lease of an attempt ended or was taken over: the reason of the aborted signal. `onError` gets it when an ack was refused,
 * because the lease had ended or the reply to an earlier ack was lost.
 */
export function taskLeaseLost(queue: string, taskId: string): TaskLeaseLostError {
  return Object.assign(new LeaseLostError(taskOf(queue, taskId)), { queue, taskId });
}
