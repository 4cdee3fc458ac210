/** Calls of handlers. Each resolves with the completions of its attempts, and never rejects. */
import type { Codecs, ErrorReporter } from '@mortise/redis';
import { decodedJson, looksEncoded } from '@mortise/redis';
import { Discard, RetryLater, WorkerError } from '../errors.js';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Schemas } from '../task/schemas.js';
import type { HANDLER_CALLS } from '../task/user-frames.js';
import type { Attempt } from './attempt.js';
import type { Completion } from './completion.js';
import { died, GIVEN_BACK, retried, SUCCEEDED, suspended } from './completion.js';
import type { EndListeners } from './end-listeners.js';
import type { BatchTask, ResolvedHandler } from './handlers.js';
import { retryDelayMs } from './retry-delay.js';
import { hasCode, isA, isHopeless } from './thrown.js';

export interface CallOptions {
  /** For tasks and handlers without a backoff of their own. */
  readonly backoff: ResolvedWorkerOptions['backoff'];
  /** Of results. */
  readonly maxPayloadBytes: number;
  readonly reporter: ErrorReporter;
  readonly schemas: Schemas | undefined;
  readonly codecs: Codecs | undefined;
  readonly listeners: EndListeners;
}

export interface BatchAttempt extends BatchTask<unknown> {
  readonly ctx: Attempt;
}

/** The stacks of errors are cut after these functions: see user-frames.ts for their names. */
const CALLS = {
  /** Runs one attempt. Without a handler the task dies. */
  async mortiseCallHandler(
    this: void,
    attempt: Attempt,
    handler: ResolvedHandler | undefined,
    options: CallOptions,
  ): Promise<Completion> {
    const { call } = attempt;
    try {
      if (!handler) throw new WorkerError('ERR_UNKNOWN_TASK', attempt.queue, attempt.id, attempt.name);
      const { schemas } = options;
      const json = decodedJson(attempt.record.payload, options.codecs);
      const payload = schemas ? await validated(attempt, json, schemas) : JSON.parse(json);
      const result: unknown = await (call
        ? call.run(() => handler.handle!(payload, attempt))
        : handler.handle!(payload, attempt));
      await attempt.reported;
      return success(attempt, result, options);
    } catch (error) {
      await attempt.reported;
      return failed(attempt, handler, error, options);
    }
  },

  /** Runs attempts in one call. Resolves with a completion for each, in their order. */
  async mortiseCallBatchHandler(
    this: void,
    batch: readonly BatchAttempt[],
    handler: ResolvedHandler,
    call: Attempt['call'],
    options: CallOptions,
  ): Promise<Completion[]> {
    const reported = async (): Promise<void> => {
      for (const { ctx } of batch) await ctx.reported;
    };
    try {
      const results: unknown = await (call
        ? call.run(() => handler.handleMany!(batch))
        : handler.handleMany!(batch));
      await reported();
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
      await reported();
      return batch.map(({ ctx }) => failed(ctx, handler, error, options));
    }
  },
} satisfies Record<(typeof HANDLER_CALLS)[number], unknown>;

export const { mortiseCallHandler: callHandler, mortiseCallBatchHandler: callBatchHandler } = CALLS;

/** The payload as the schema of the task's name returns it. */
export async function validated(attempt: Attempt, json: string, schemas: Schemas): Promise<unknown> {
  const payload = await schemas.parse(attempt.name, json, attempt.id);
  // The worker may have stopped during the validation.
  if (attempt.isOver) attempt.signal.throwIfAborted();
  return payload;
}

/** The completion of an attempt whose handler threw; an attempt that ended earlier already has one. */
export function failed(
  attempt: Attempt,
  handler: ResolvedHandler | undefined,
  error: unknown,
  { backoff, reporter, listeners }: CallOptions,
): Completion {
  if (attempt.isOver) return GIVEN_BACK;
  attempt.call?.failed(error);
  // A handler may have caught the error of the sleep, and thrown another one.
  if (attempt.suspension) return suspended(attempt.suspension);
  if (isA(RetryLater, error)) return { verdict: 'L', delayMs: error.delayMs, data: '' };
  const isReported = isHopeless(error, attempt.id);
  if (isReported) reporter.report(error);
  // The end of a wait is remembered, so each attempt would fail with it.
  const isKnown = isReported || isA(Discard, error) || hasCode(error, 'ERR_EVENT_TIMEOUT');
  const isFinal = isKnown || attempt.attempt >= attempt.attempts;
  listeners.failed(attempt, error, isFinal);
  if (isFinal) return died(error);
  const policy = handler?.backoff ?? backoff;
  const delayMs = retryDelayMs(attempt, error, policy, (reported) => reporter.report(reported));
  return retried(delayMs, error);
}

/** The task is done, so a result that cannot be stored is reported and dropped; it is not a failure. */
function success(
  attempt: Attempt,
  result: unknown,
  { maxPayloadBytes: maxBytes, reporter, listeners, codecs }: CallOptions,
): Completion {
  if (attempt.suspension) return attempt.isOver ? GIVEN_BACK : suspended(attempt.suspension);
  if (!attempt.isOver) listeners.succeeded(attempt, result);
  if (result === undefined) return SUCCEEDED;
  try {
    const json = JSON.stringify(result) ?? '';
    const bytes = Buffer.byteLength(json);
    if (codecs && looksEncoded(json))
      throw new TypeError('it begins with $codec, which marks encoded results');
    if (bytes <= maxBytes) return { ...SUCCEEDED, data: codecs?.encode(json) ?? json };
    throw new RangeError(`it has ${bytes} bytes, the limit is ${maxBytes}`);
  } catch (error) {
    reporter.report(new WorkerError('ERR_RESULT_NOT_KEPT', attempt.queue, attempt.id, attempt.name, error));
    return SUCCEEDED;
  }
}
