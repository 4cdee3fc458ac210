/** Calls of handlers. Each resolves with the completions of its attempts, and never rejects. */
import type { ErrorReporter } from '@mortise/redis';
import { WorkerError } from '../errors.js';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Schemas } from '../task/schemas.js';
import type { Attempt } from './attempt.js';
import type { Completion } from './completion.js';
import { GIVEN_BACK } from './completion.js';
import type { BatchTask, ResolvedHandler } from './handlers.js';
import { failure, isA, success } from './outcome.js';

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
    return success(attempt, result, options.maxPayloadBytes, options.reporter);
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
  const failAll = (error: unknown): Completion[] =>
    batch.map(({ ctx }) => failed(ctx, handler, error, options));
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
      return isA(Error, result)
        ? failed(ctx, handler, result, options)
        : success(ctx, result, options.maxPayloadBytes, options.reporter);
    });
  } catch (error) {
    return failAll(error);
  }
}

/** The payload as the schema of the task's name returns it. */
export async function validated(attempt: Attempt, schemas: Schemas): Promise<unknown> {
  const payload = await schemas.parse(attempt.name, attempt.record.payload, attempt.id);
  // The worker may have stopped during the validation.
  if (attempt.isOver) attempt.signal.throwIfAborted();
  return payload;
}

export function failed(
  attempt: Attempt,
  handler: ResolvedHandler | undefined,
  error: unknown,
  { backoff, reporter }: CallOptions,
): Completion {
  if (attempt.isOver) return GIVEN_BACK;
  attempt.call?.failed(error);
  return failure(attempt, error, handler?.backoff ?? backoff, reporter);
}
