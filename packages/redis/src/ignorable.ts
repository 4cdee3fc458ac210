/**
 * Marks the rejection of a promise as handled, and returns the promise. A caller that awaits it gets the rejection; a caller that
 * forgets to await it doesn't end the process.
 */
export function ignorable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
