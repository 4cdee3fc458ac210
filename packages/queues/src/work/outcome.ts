/** Completions of attempts from the result or error of the handler. */
import type { ErrorReporter } from '@mortise/redis';
import { describeError } from '@mortise/redis';
import { Discard, InvalidPayloadError, RetryLater, WorkerError } from '../errors.js';
import type { BackoffFunction, ResolvedBackoff } from '../options.js';
import type { Attempt } from './attempt.js';
import { retryDelayMs } from './retry-delay.js';
import type { Completion } from './completion.js';
import { died, SUCCEEDED } from './completion.js';

/** @param policy The backoff of the handler, or of the worker. */
export function failure(
  attempt: Attempt,
  error: unknown,
  policy: ResolvedBackoff | BackoffFunction,
  reporter: ErrorReporter,
): Completion {
  if (isA(RetryLater, error)) return { verdict: 'L', delayMs: error.delayMs, data: '' };
  const isHopeless =
    isA(WorkerError, error) || (isA(InvalidPayloadError, error) && error.taskId === attempt.id);
  if (isHopeless) reporter.report(error);
  if (isHopeless || isA(Discard, error) || attempt.attempt >= attempt.attempts) {
    return died(error);
  }
  const delayMs = retryDelayMs(attempt, error, policy, (reported) => reporter.report(reported));
  return { verdict: 'R', delayMs, data: describeError(error) };
}

/** The task is done, so a result that cannot be stored is reported and dropped; it is not a failure. */
export function success(
  attempt: Attempt,
  result: unknown,
  maxBytes: number,
  reporter: ErrorReporter,
): Completion {
  if (result === undefined) return SUCCEEDED;
  try {
    const json = JSON.stringify(result) ?? '';
    const bytes = Buffer.byteLength(json);
    if (bytes <= maxBytes) return { ...SUCCEEDED, data: json };
    throw new RangeError(`it has ${bytes} bytes, the limit is ${maxBytes}`);
  } catch (error) {
    reporter.report(new WorkerError('ERR_RESULT_NOT_KEPT', attempt.queue, attempt.id, attempt.name, error));
    return SUCCEEDED;
  }
}

/** `instanceof` for thrown values, which may be a Proxy that throws. */
export function isA<Type>(
  constructor: abstract new (...args: never[]) => Type,
  error: unknown,
): error is Type {
  try {
    return error instanceof constructor;
  } catch {
    return false;
  }
}
