/** The errors of attempts, those that workers report to `onError`, and those that handlers throw. */
import { CodedError, describeError, requireDuration, requireOptions } from '@mortise/redis';
import { MAX_DELAY_MS } from './limits.js';
import { taskOf } from './task-of.js';

const ENDS = {
  ERR_TASK_TIMEOUT: (task: string, limitMs: number) => `an attempt of ${task} took longer than ${limitMs} ms`,
  ERR_TASK_EXPIRED: (task: string, limitMs: number) => `${task} was not started within ${limitMs} ms`,
  ERR_WORKER_STOPPED: (task: string) => `the worker stopped before ${task} had finished`,
  ERR_ATTEMPT_ENDED: (task: string) => `the handler of ${task} has returned: await the calls of its context`,
};

/**
 * The attempt ended before its handler did. The aborted signal has this error as its reason, and so has a task that is dead
 * because of it.
 *
 * @code ERR_TASK_TIMEOUT The attempt took longer than `timeoutMs`.
 * @remedy Pass `ctx.signal` on, or raise `timeoutMs`.
 * @code ERR_TASK_EXPIRED The task was not started within `expiresInMs`.
 * @remedy Run more workers, or raise `expiresInMs`.
 * @code ERR_WORKER_STOPPED The worker stopped, and gave the task back.
 * @remedy Stop the work: it begins again elsewhere.
 * @code ERR_ATTEMPT_ENDED A function of `ctx` was called after the handler had returned.
 * @remedy `await` what the handler starts.
 */
export class AttemptError extends CodedError {
  static override readonly className: string = 'AttemptError';
  constructor(
    readonly code: keyof typeof ENDS,
    readonly queue: string,
    readonly taskId: string,
    /** `timeoutMs` or `expiresInMs`; otherwise 0. */
    readonly limitMs = 0,
  ) {
    super(ENDS[code](taskOf(queue, taskId), limitMs), undefined, code);
  }
}

const STEP_LIMITS = {
  ERR_TOO_MANY_STEPS: 'has 1,000 steps',
  ERR_STEPS_TOO_LARGE: 'has more than 1,048,576 bytes of steps and cursor',
};

/**
 * A step has run, but its result was not stored, or a cursor was not stored. `ctx.step` or `ctx.setCursor` rejects with this
 * error.
 *
 * @code ERR_TOO_MANY_STEPS The task has 1,000 steps.
 * @remedy Use a cursor for a loop, or split the task.
 * @code ERR_STEPS_TOO_LARGE The results of the steps and the cursor would have more than 1 MiB.
 * @remedy Store large results elsewhere, and return their keys.
 */
export class StepError extends CodedError {
  static override readonly className: string = 'StepError';
  constructor(
    readonly code: keyof typeof STEP_LIMITS,
    readonly queue: string,
    readonly taskId: string,
    /** Empty for the cursor. */
    readonly step: string,
  ) {
    const what = step === '' ? 'its cursor' : `step ${JSON.stringify(step)}`;
    super(`${taskOf(queue, taskId)} ${STEP_LIMITS[code]}: ${what} is not stored`, undefined, code);
  }
}

/**
 * No event came within `timeoutMs`. `ctx.waitFor` rejects with this error, in each later attempt too. If the handler doesn't
 * catch it, the task is dead.
 *
 * @remedy Catch the error and continue without the event, or raise `timeoutMs`.
 */
export class EventTimeoutError extends CodedError {
  static override readonly className: string = 'EventTimeoutError';
  readonly code = 'ERR_EVENT_TIMEOUT';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly event: string,
  ) {
    super(
      `${taskOf(queue, taskId)} has waited too long for the event ${JSON.stringify(event)}`,
      undefined,
      'ERR_EVENT_TIMEOUT',
    );
  }
}

const DELIVERY_LIMITS = {
  ERR_TOO_MANY_EVENTS: '100 events',
  ERR_EVENTS_TOO_LARGE: '262,144 bytes of events',
};

/**
 * An event was not stored. `deliver` rejects with this error.
 *
 * @code ERR_TOO_MANY_EVENTS The task has 100 events that it has not taken.
 * @remedy Deliver only events for which the handler waits.
 * @code ERR_EVENTS_TOO_LARGE The events that the task has not taken would have more than 262,144 bytes.
 * @remedy Store large payloads elsewhere, and deliver their keys.
 */
export class DeliveryError extends CodedError {
  static override readonly className: string = 'DeliveryError';
  constructor(
    readonly code: keyof typeof DELIVERY_LIMITS,
    readonly queue: string,
    readonly taskId: string,
    readonly event: string,
  ) {
    const most = DELIVERY_LIMITS[code];
    super(
      `the event ${JSON.stringify(event)} is not stored: ${taskOf(queue, taskId)} has ${most} that it has not taken`,
      undefined,
      code,
    );
  }
}

const REPORTS = {
  ERR_UNKNOWN_TASK: (name: string, task: string) =>
    `no handler for ${name}, ${task}: no worker had one within unknownAfterMs`,
  ERR_HANDLER_MISSING: (name: string, task: string) =>
    `no handler for ${name}, ${task}: it goes back for other workers`,
  ERR_TASK_UNREADABLE: (_: string, task: string, why: string) => `${task} cannot be read: ${why}`,
  ERR_LISTENER_FAILED: (name: string, task: string, why: string) =>
    `onSucceeded or onFailed threw for ${name}, ${task}: ${why}`,
  ERR_RESULT_NOT_KEPT: (name: string, task: string, why: string) =>
    `the result of ${name}, ${task} is not kept: ${why}`,
  ERR_BACKOFF_FUNCTION: (name: string, task: string, why: string) =>
    `the backoff function of ${name}, ${task} returned no delay: ${why}`,
};

/**
 * A problem that a worker reports to `onError`; the worker goes on.
 *
 * @code ERR_UNKNOWN_TASK No worker had a handler for the name of the task within `unknownAfterMs`. The task is dead now.
 * @remedy Add the handler, then `retryAll({ name })`.
 * @code ERR_HANDLER_MISSING This worker has no handler for the name of the task, which goes back for other workers. Reported
 *   once a minute and name.
 * @remedy Deploy a worker with a handler.
 * @code ERR_TASK_UNREADABLE A newer version has stored the task, which is dead now and has no `taskName`.
 * @remedy Upgrade the worker, then retry the task.
 * @code ERR_LISTENER_FAILED `onSucceeded` or `onFailed` threw; `cause` is its error.
 * @remedy Repair the listener.
 * @code ERR_RESULT_NOT_KEPT The task succeeded, but its result is no JSON, or too large.
 * @remedy Return less, or nothing. Store large results elsewhere.
 * @code ERR_BACKOFF_FUNCTION A backoff function threw, or returned no delay. The default was used.
 * @remedy Return a number of ms, no promise.
 */
export class WorkerError extends CodedError {
  static override readonly className: string = 'WorkerError';
  constructor(
    readonly code: keyof typeof REPORTS,
    readonly queue: string,
    readonly taskId: string,
    readonly taskName: string,
    override readonly cause?: unknown,
  ) {
    const why = describeError(cause).split('\n', 1)[0]!;
    super(REPORTS[code](JSON.stringify(taskName), taskOf(queue, taskId), why), undefined, code);
  }
}

/**
 * A call to Redis has failed, and the worker repeats it. `onError` gets this error; `cause` is the error of ioredis.
 *
 * @remedy None, unless the error persists.
 */
export class CallFailedError extends CodedError {
  static override readonly className: string = 'CallFailedError';
  readonly code = 'ERR_CALL_FAILED';

  constructor(override readonly cause: unknown) {
    super(`a call to Redis failed: ${describeError(cause).split('\n', 1)[0]}`, undefined, 'ERR_CALL_FAILED');
  }
}

/**
 * The thread of a sandbox ended before its handler: it crashed, ran out of memory, exited, or ignored its signal. The
 * attempt has failed.
 *
 * @remedy Raise `resourceLimits`. See stderr of the process.
 */
export class SandboxExitedError extends CodedError {
  static override readonly className: string = 'SandboxExitedError';
  readonly code = 'ERR_SANDBOX_EXITED';

  constructor(
    readonly queue: string,
    readonly taskId: string,
    readonly exitCode: number,
    /** The error of the thread, if it had one. */
    override readonly cause: unknown,
  ) {
    const reason = cause === undefined ? '' : `: ${describeError(cause).split('\n', 1)[0]}`;
    super(
      `the sandbox of ${taskOf(queue, taskId)} exited with code ${exitCode}${reason}`,
      undefined,
      'ERR_SANDBOX_EXITED',
    );
  }
}

/**
 * Thrown by a handler for a hopeless task: the task is dead at once, even with attempts left.
 *
 * @remedy None: the handler wanted it.
 */
export class Discard extends CodedError {
  static override readonly className: string = 'Discard';
  readonly code = 'ERR_DISCARDED';
}

const RETRY_LATER_OPTIONS = new Set(['delayMs', 'reason']);

/**
 * Thrown by a handler to run the task again after `delayMs` (0 to 10 years), without counting the attempt. Another
 * delay throws a RangeError, which fails the attempt.
 *
 * @remedy None: the handler wanted it.
 */
export class RetryLater extends CodedError {
  static override readonly className: string = 'RetryLater';
  readonly code = 'ERR_RETRY_LATER';
  readonly delayMs: number;

  constructor(options: { readonly delayMs: number; readonly reason?: string | undefined }) {
    const { delayMs, reason = 'the handler asked for a later try' } = requireOptions(
      'RetryLater',
      options,
      RETRY_LATER_OPTIONS,
    );
    super(reason);
    this.delayMs = requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS });
  }
}
