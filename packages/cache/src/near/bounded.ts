/** The result, or undefined after `ms` or on an error. */
export async function bounded<Result>(result: Promise<Result>, ms: number): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    // After a blocked event loop timers run first: an answer that has arrived already counts.
    timer = setTimeout(() => setImmediate(resolve, undefined), ms).unref();
  });
  try {
    return await Promise.race([result, tooLate]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
