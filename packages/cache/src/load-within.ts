import { onAbort, TIMED_OUT, waitFor } from '@mortise/redis';

/**
 * Runs a loader with a time limit. Its signal is aborted with the error that the caller gets; a later result is ignored.
 *
 * @param toError Makes the error of the time limit. @param end Ends the load early, with its reason.
 */
export async function loadWithin<Result>(
  waitMs: number,
  toError: () => Error,
  load: (signal: AbortSignal) => Promise<Result> | Result,
  end?: AbortSignal,
): Promise<Result> {
  const controller = new AbortController();
  const { signal } = controller;
  const forget = end && onAbort(end, () => controller.abort(end.reason));
  try {
    const result = await waitFor(Promise.resolve(load(signal)), { waitMs, signal });
    if (result !== TIMED_OUT) return result;
    const error = toError();
    controller.abort(error);
    throw error;
  } finally {
    forget?.();
  }
}
