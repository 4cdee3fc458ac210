/** The errors of the layer: those that BullMQ's users throw and catch, and the refusal of what the layer lacks. */
import { CodedError } from '@mortise/redis';

const DELAYED = 'bullmq:movedToDelayed';
const WAITING = 'bullmq:movedToWait';
const WAITING_CHILDREN = 'bullmq:movedToWaitingChildren';
const RATE_LIMIT = 'bullmq:rateLimitExceeded';
const UNRECOVERABLE = 'bullmq:unrecoverable';

/** Thrown by a processor after `job.moveToDelayed`: the attempt has no other end. */
export class DelayedError extends Error {
  override readonly name = 'DelayedError';
  constructor(message = DELAYED) {
    super(message);
  }
}

/** Thrown by a processor after `job.moveToWait`. */
export class WaitingError extends Error {
  override readonly name = 'WaitingError';
  constructor(message = WAITING) {
    super(message);
  }
}

/** Thrown by a processor after `job.moveToWaitingChildren` has resolved to true. */
export class WaitingChildrenError extends Error {
  override readonly name = 'WaitingChildrenError';
  constructor(message = WAITING_CHILDREN) {
    super(message);
  }
}

/** Thrown by a processor after `worker.rateLimit`: the job waits again, and the attempt does not count. */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError';
  constructor(message = RATE_LIMIT) {
    super(message);
  }
}

/** Thrown by a processor for a hopeless job: it fails at once, even with attempts left. */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError';
  constructor(message = UNRECOVERABLE) {
    super(message);
  }
}

const MOVED = new Set(['DelayedError', 'WaitingError', 'WaitingChildrenError']);

/** Whether the processor has moved its job. By name, as an error of another copy of the package. */
export function isMoved(error: unknown): boolean {
  return MOVED.has(nameOf(error));
}

export function isUnrecoverable(error: unknown): boolean {
  return nameOf(error) === 'UnrecoverableError';
}

export function isRateLimit(error: unknown): boolean {
  return messageOf(error) === RATE_LIMIT;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

export function messageOf(error: unknown): string {
  return error instanceof Error
    ? error.message
    : String((error as { message?: unknown } | null)?.message ?? error);
}

/**
 * The layer lacks this option or call of BullMQ. Nothing was done.
 *
 * @remedy docs/coming-from/bullmq.md names the counterpart in Mortise.
 */
export class BullmqUnsupportedError extends CodedError {
  static override readonly className: string = 'BullmqUnsupportedError';
  readonly code = 'ERR_BULLMQ_UNSUPPORTED';

  constructor(
    /** The name of the option or the call. */
    readonly feature: string,
    instead: string,
  ) {
    super(`${feature} is not supported: ${instead}`, undefined, 'ERR_BULLMQ_UNSUPPORTED');
  }
}

const REASONS: Readonly<Record<number, (job: string, command: string, state: string) => string>> = {
  [-1]: (job, command) => `Missing key for job ${job}. ${command}`,
  [-2]: (job, command) => `Missing lock for job ${job}. ${command}`,
  [-3]: (job, command, state) => `Job ${job} is not in the ${state} state. ${command}`,
  [-4]: (job, command) => `Job ${job} has pending dependencies. ${command}`,
  [-5]: (job, command) => `Missing key for parent job ${job}. ${command}`,
  [-6]: (job, command, state) => `Lock mismatch for job ${job}. Cmd ${command} from ${state}`,
  [-8]: (job, command) => `Job ${job} belongs to a job scheduler and cannot be removed directly. ${command}`,
  [-9]: (job, command) => `Cannot complete job ${job} because it has at least one failed child. ${command}`,
};

/** The error of BullMQ for an answer of a script, with its text and its number as `code`. */
export function refusalOf(code: number, job: string, command: string, state = ''): Error {
  const text = REASONS[code]?.(job, command, state) ?? `Unknown code ${code} error for ${job}. ${command}`;
  const error = code === -9 ? new UnrecoverableError(text) : new Error(text);
  return Object.assign(error, { code });
}
