/** Every refusal of this package. The README lists the codes; a test compares the two. */
import { CodedError, describeError, requireDuration } from '@mortise/redis';
import { MAX_DELAY_MS } from './limits.js';

/** Why a payload does not fit its schema. */
export interface PayloadIssue {
  readonly message: string;
  /** Where in the payload; empty for the whole of it. */
  readonly path: readonly (string | number)[];
}

/**
 * The payload cannot be stored: not JSON (undefined, NaN, a function, a Map, BigInt, a cycle), nested too deeply, or not what its
 * schema takes. A worker reports it for a stored payload that its schema does not take: the task is dead.
 */
export class InvalidPayloadError extends CodedError {
  readonly code = 'ERR_INVALID_PAYLOAD';

  constructor(
    readonly taskName: string,
    reason: string,
    /** Where it does not fit its schema; empty when it cannot be stored at all. */
    readonly issues: readonly PayloadIssue[] = [],
    /** Of the task that has been stored with it; undefined at the caller who wants to. */
    readonly taskId?: string,
  ) {
    super(`the payload of task ${JSON.stringify(taskName)} ${reason}`);
  }
}

/** The payload has more bytes than the queue allows. */
export class PayloadTooLargeError extends CodedError {
  readonly code = 'ERR_PAYLOAD_TOO_LARGE';

  constructor(
    readonly taskName: string,
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(`the payload of task ${JSON.stringify(taskName)} has ${bytes} bytes, the limit is ${maxBytes}`);
  }
}

/** The queue exists with other priorities than this instance was given. */
export class PrioritiesMismatchError extends CodedError {
  readonly code = 'ERR_PRIORITIES_MISMATCH';

  constructor(
    readonly queue: string,
    readonly wanted: readonly string[],
    readonly stored: readonly string[],
  ) {
    super(`queue ${JSON.stringify(queue)} has the priorities ${stored.join(', ')}, not ${wanted.join(', ')}`);
  }
}

/** The queue exists with another number of shards than this instance was given; it cannot be changed. */
export class ShardsMismatchError extends CodedError {
  readonly code = 'ERR_SHARDS_MISMATCH';

  constructor(
    readonly queue: string,
    readonly wanted: number,
    readonly stored: number,
  ) {
    super(`queue ${JSON.stringify(queue)} has ${stored} shards, not ${wanted}`);
  }
}

/**
 * The id belongs to a task with another name or payload, or to the root of a flow with other children; or the id that was given
 * to a child of a flow is taken by any task. Nothing was stored, but for what `stored` tells.
 */
export class TaskConflictError extends CodedError {
  readonly code = 'ERR_TASK_CONFLICT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    /** Of `enqueueMany`: ids of tasks that were stored all the same, by other script calls. */
    readonly stored: readonly string[] = [],
    what = 'with another name or payload',
  ) {
    super(`queue ${JSON.stringify(queue)} has a task ${JSON.stringify(taskId)} ${what}`);
  }
}

/** Redis has no memory left and evicts nothing: nothing was stored, but for what `stored` tells. Workers go on. */
export class MemoryFullError extends CodedError {
  readonly code = 'ERR_MEMORY_FULL';

  constructor(
    readonly queue: string,
    override readonly cause: Error,
    /** Of `enqueueMany`: ids of tasks that were stored all the same, by other script calls. */
    readonly stored: readonly string[] = [],
  ) {
    super(`queue ${JSON.stringify(queue)} takes no tasks: Redis has no memory left`);
  }

  /** Waits for a call that stores something; rejects with this where Redis has refused that for want of memory. */
  static async telling<T>(queue: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      const isFull = error instanceof Error && error.message.startsWith('OOM ');
      throw isFull ? new MemoryFullError(queue, error) : error;
    }
  }
}

/** `runAt` is more than a minute ago, by the clock of the caller. Seconds that were meant as ms are far in the past, too. */
export class RunAtPastError extends CodedError {
  readonly code = 'ERR_RUN_AT_PAST';

  constructor(readonly runAt: number) {
    super(`runAt must not be in the past, got ${new Date(runAt).toISOString()}`);
  }
}

/** The queue holds as many tasks as its settings allow. Nothing was stored, but for what `stored` tells. */
export class QueueFullError extends CodedError {
  readonly code = 'ERR_QUEUE_FULL';

  constructor(
    readonly queue: string,
    readonly maxTasks: number,
    /** Of `enqueueMany`: ids of tasks that were stored all the same, by other script calls. */
    readonly stored: readonly string[] = [],
  ) {
    super(`queue ${JSON.stringify(queue)} is full: it may hold ${maxTasks} tasks`);
  }
}

/** No task has this id, or it is no longer retained. */
export class UnknownIdError extends CodedError {
  readonly code = 'ERR_TASK_NOT_FOUND';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(`queue ${JSON.stringify(queue)} has no task ${JSON.stringify(taskId)}`);
  }
}

/** The task runs, so it cannot be removed; it can be cancelled. Nothing was changed. */
export class TaskActiveError extends CodedError {
  readonly code = 'ERR_TASK_ACTIVE';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(`task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} is active: cancel it first`);
  }
}

/** The task was cancelled: the reason of the aborted signal, and what `result` rejects with. */
export class TaskCancelledError extends CodedError {
  readonly code = 'ERR_TASK_CANCELLED';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(`task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} was cancelled`);
  }
}

/** What `result` rejects with when the task is dead; `reason` is why its last attempt failed. */
export class TaskDeadError extends CodedError {
  readonly code = 'ERR_TASK_DEAD';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly reason: string,
  ) {
    const why = reason.split('\n', 1)[0];
    super(`task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} is dead: ${why}`);
  }
}

/** The task had not ended within `waitMs`. When Redis could not be asked, `cause` tells why. */
export class ResultTimeoutError extends CodedError {
  readonly code = 'ERR_RESULT_TIMEOUT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly waitMs: number,
    options?: ErrorOptions,
  ) {
    super(
      `task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} had not ended after ${waitMs} ms`,
      options,
    );
  }
}

/** The tree of tasks cannot be a flow: too deep, too many tasks or bytes, an id twice, an option that children cannot have. */
export class InvalidFlowError extends CodedError {
  readonly code = 'ERR_INVALID_FLOW';

  constructor(
    readonly queue: string,
    reason: string,
  ) {
    super(`the flow of queue ${JSON.stringify(queue)} ${reason}`);
  }
}

/**
 * The lease of an attempt ended or was taken over: the task belongs to another worker, or will. It is the reason of the
 * aborted signal. When only the completion was refused (the handler had blocked the event loop for longer than the
 * lease, or the reply to the completion was lost and the client sent it again), `onError` alone hears of it.
 */
export class LeaseLostError extends CodedError {
  readonly code = 'ERR_LEASE_LOST';

  constructor(
    readonly queue: string,
    readonly taskId: string,
  ) {
    super(`the lease of task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} is lost`);
  }
}

/** An attempt took longer than its `timeoutMs`: the reason of the aborted signal, and why the attempt failed. */
export class TaskTimeoutError extends CodedError {
  readonly code = 'ERR_TASK_TIMEOUT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly timeoutMs: number,
  ) {
    super(
      `an attempt of task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} took longer than ${timeoutMs} ms`,
    );
  }
}

/** The task was not started within its `expiresInMs`: why it is dead. */
export class TaskExpiredError extends CodedError {
  readonly code = 'ERR_TASK_EXPIRED';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly expiresInMs: number,
  ) {
    super(
      `task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)} was not started within ${expiresInMs} ms`,
    );
  }
}

/** The worker stopped before the handler had finished; the task is ready for another worker. */
export class WorkerStoppedError extends CodedError {
  readonly code = 'ERR_WORKER_STOPPED';

  constructor(readonly taskId: string) {
    super(`the worker stopped before task ${JSON.stringify(taskId)} had finished`);
  }
}

/** No schedule can be made of what was given, or what is stored of it cannot be read. Nothing was changed. */
export class InvalidScheduleError extends CodedError {
  readonly code = 'ERR_INVALID_SCHEDULE';

  constructor(
    readonly key: string,
    reason: string,
  ) {
    super(`schedule ${JSON.stringify(key)}: ${reason}`);
  }
}

/** The queue has as many schedules as it may have. Nothing was stored. */
export class TooManySchedulesError extends CodedError {
  readonly code = 'ERR_TOO_MANY_SCHEDULES';

  constructor(
    readonly queue: string,
    readonly limit: number,
  ) {
    super(`queue ${JSON.stringify(queue)} has ${limit} schedules, more are not allowed`);
  }
}

/** No handler for the name of a task: it is set aside among the dead tasks. */
export class UnknownTaskError extends CodedError {
  readonly code = 'ERR_UNKNOWN_TASK';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly taskName: string,
  ) {
    super(
      `no handler for ${JSON.stringify(taskName)}, task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)}`,
    );
  }
}

/** The task succeeded, but what its handler returned is no JSON, or too large, and is left out. */
export class ResultNotKeptError extends CodedError {
  readonly code = 'ERR_RESULT_NOT_KEPT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly taskName: string,
    override readonly cause: unknown,
  ) {
    const reason = describeError(cause).split('\n', 1)[0];
    const task = `${JSON.stringify(taskName)}, task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)}`;
    super(`the result of ${task} is not kept: ${reason}`);
  }
}

/** A function that was to tell the delay before the next attempt threw, or returned no delay; the default was used. */
export class BackoffFunctionError extends CodedError {
  readonly code = 'ERR_BACKOFF_FUNCTION';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly taskName: string,
    override readonly cause: unknown,
  ) {
    const reason = describeError(cause).split('\n', 1)[0];
    super(`the backoff function of ${JSON.stringify(taskName)} told no delay: ${reason}`);
  }
}

/** The thread of a sandbox ended before its handler had: it crashed, ran out of memory, exited, or did not obey its signal. */
export class SandboxExitedError extends CodedError {
  readonly code = 'ERR_SANDBOX_EXITED';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly exitCode: number,
    /** What the thread failed with, if it did. */
    override readonly cause: unknown,
  ) {
    const reason = cause === undefined ? '' : `: ${describeError(cause).split('\n', 1)[0]}`;
    const task = `task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)}`;
    super(`the sandbox of ${task} exited with code ${exitCode}${reason}`);
  }
}

/** Thrown by a handler: the task is hopeless and goes to the dead tasks at once, whatever attempts it has left. */
export class Discard extends CodedError {
  readonly code = 'ERR_DISCARDED';
}

/**
 * Thrown by a handler: run the task again after `delayMs` (0 to 10 years). It does not count as a failed attempt.
 * RangeError for another delay; thrown in a handler that is a failure like any other.
 */
export class RetryLater extends CodedError {
  readonly code = 'ERR_RETRY_LATER';
  readonly delayMs: number;

  constructor(options: { readonly delayMs: number; readonly reason?: string }) {
    super(options?.reason ?? 'the handler asked for a later try');
    this.delayMs = requireDuration('delayMs', options?.delayMs, { min: 0, max: MAX_DELAY_MS });
  }
}
