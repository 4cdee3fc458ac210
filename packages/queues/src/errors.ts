/** Every refusal of this package. The README lists the codes; a test compares the two. */
import { CodedError, requireDuration } from '@mortise/redis';
import { describeError } from './describe-error.js';
import { MAX_DELAY_MS } from './options.js';

/** The payload cannot be stored: not JSON (undefined, a function, BigInt, a cycle), or nested too deeply. */
export class InvalidPayloadError extends CodedError {
  readonly code = 'ERR_INVALID_PAYLOAD';

  constructor(
    readonly taskName: string,
    reason: string,
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

/** The worker stopped before the handler had finished; the task is ready for another worker. */
export class WorkerStoppedError extends CodedError {
  readonly code = 'ERR_WORKER_STOPPED';

  constructor(readonly taskId: string) {
    super(`the worker stopped before task ${JSON.stringify(taskId)} had finished`);
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

  constructor({
    delayMs,
    reason = 'the handler asked for a later try',
  }: {
    delayMs: number;
    reason?: string;
  }) {
    super(reason);
    this.delayMs = requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS });
  }
}
