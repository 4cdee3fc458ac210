/** Calls of handlers. Each resolves with the completions of its attempts, and never rejects. */
import type { ErrorReporter } from '@mortise/redis';
import { describeError } from '@mortise/redis';
import { Discard, InvalidPayloadError, RetryLater, WorkerError } from '../errors.js';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Schemas } from '../task/schemas.js';
import type { Attempt } from './attempt.js';
import type { Completion } from './completion.js';
import { died, GIVEN_BACK, SUCCEEDED } from './completion.js';
import type { BatchTask, ResolvedHandler } from './handlers.js';
import { retryDelayMs } from './retry-delay.js';

export interface CallOptions {
  /** For tasks and handlers without a backoff of their own. */
  readonly backoff: ResolvedWorkerOptions['backoff'];
  /** Of results. */
  readonly maxPayloadBytes: number;
  readonly reporter: ErrorReporter;
  readonly schemas: Schemas | undefined;
}

export interface BatchAttempt extends BatchTask<unknown> {
  readonly ctx: Attempt;
}

/** Runs one attempt. Without a handler the task dies. */
export async function callHandler(
  attempt: Attempt,
  handler: ResolvedHandler | undefined,
  options: CallOptions,
): Promise<Completion> {
  const { call } = attempt;
  try {
    if (!handler) throw new WorkerError('ERR_UNKNOWN_TASK', attempt.queue, attempt.id, attempt.name);
    const { schemas } = options;
    const payload = schemas ? await validated(attempt, schemas) : JSON.parse(attempt.record.payload);
    const result: unknown = await (call
      ? call.run(() => handler.handle!(payload, attempt))
      : handler.handle!(payload, attempt));
    return success(attempt, result, options);
  } catch (error) {
    return failed(attempt, handler, error, options);
  }
}

/** Runs attempts in one call. Resolves with a completion for each, in their order. */
export async function callBatchHandler(
  batch: readonly BatchAttempt[],
  handler: ResolvedHandler,
  call: Attempt['call'],
  options: CallOptions,
): Promise<Completion[]> {
  try {
    const results: unknown = await (call
      ? call.run(() => handler.handleMany!(batch))
      : handler.handleMany!(batch));
    if (results !== undefined && !(Array.isArray(results) && results.length === batch.length)) {
      throw new TypeError(
        `handleMany of ${JSON.stringify(handler.name)} must return nothing or ${batch.length} results`,
      );
    }
    return batch.map(({ ctx }, index) => {
      // An attempt that ended earlier already has its completion.
      if (ctx.isOver) return GIVEN_BACK;
      const result: unknown = results?.[index];
      return isA(Error, result) ? failed(ctx, handler, result, options) : success(ctx, result, options);
    });
  } catch (error) {
    return batch.map(({ ctx }) => failed(ctx, handler, error, options));
  }
}

/** The payload as the schema of the task's name returns it. */
export async function validated(attempt: Attempt, schemas: Schemas): Promise<unknown> {
  const payload = await schemas.parse(attempt.name, attempt.record.payload, attempt.id);
  // The worker may have stopped during the validation.
  if (attempt.isOver) attempt.signal.throwIfAborted();
  return payload;
}

/** The completion of an attempt whose handler threw; an attempt that ended earlier already has one. */
export function failed(
  attempt: Attempt,
  handler: ResolvedHandler | undefined,
  error: unknown,
  { backoff, reporter }: CallOptions,
): Completion {
  if (attempt.isOver) return GIVEN_BACK;
  attempt.call?.failed(error);
  if (isA(RetryLater, error)) return { verdict: 'L', delayMs: error.delayMs, data: '' };
  const isHopeless =
    isA(WorkerError, error) || (isA(InvalidPayloadError, error) && error.taskId === attempt.id);
  if (isHopeless) reporter.report(error);
  if (isHopeless || isA(Discard, error) || attempt.attempt >= attempt.attempts) return died(error);
  const policy = handler?.backoff ?? backoff;
  const delayMs = retryDelayMs(attempt, error, policy, (reported) => reporter.report(reported));
  return { verdict: 'R', delayMs, data: describeError(error) };
}

/** The task is done, so a result that cannot be stored is reported and dropped; it is not a failure. */
function success(
  attempt: Attempt,
  result: unknown,
  { maxPayloadBytes: maxBytes, reporter }: CallOptions,
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
function isA<Type>(constructor: abstract new (...args: never[]) => Type, error: unknown): error is Type {
  try {
    return error instanceof constructor;
  } catch {
    return false;
  }
}
