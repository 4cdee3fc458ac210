/** Runs a loader with a time limit. Its signal is aborted with the error that the caller gets; a later result is ignored. */
export async function within<Result>(
  limitMs: number,
  toError: () => Error,
  load: (signal: AbortSignal) => Promise<Result> | Result,
): Promise<Result> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = toError();
      controller.abort(error);
      reject(error);
    }, limitMs);
  });
  try {
    return await Promise.race([load(controller.signal), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
