/** The result, or undefined when there is none within so long or it is an error. */
export async function bounded<Result>(result: Promise<Result>, ms: number): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    // After a blocked event loop timers come first: let an answer in that has arrived.
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
