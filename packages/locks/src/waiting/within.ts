/** What `within` answers when the time is up first. */
export const TIMED_OUT = Symbol('timed out');

/** What an abort ends. One listener for each signal: Node warns of a leak when one signal ends more than ten waits. */
const ends = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * The result of `work`, or TIMED_OUT when that is not there in `waitMs`. Rejects with the reason of the signal when
 * that is aborted first. The work itself goes on: whoever started it has to end it.
 */
export function within<T>(
  work: Promise<T>,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => resolve(TIMED_OUT)), Math.max(1, waitMs));
    const unlisten = signal && listen(signal, () => end(() => reject(signal.reason as Error)));
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      unlisten?.();
      settle();
    };
    work.then(
      (result) => end(() => resolve(result)),
      (error: unknown) => end(() => reject(error)),
    );
  });
}

/** Calls `callback` when the signal is aborted. Returns what undoes it. */
export function listen(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = ends.get(signal);
  if (!callbacks) {
    callbacks = new Set();
    ends.set(signal, callbacks);
  }
  const all = callbacks;
  if (all.size === 0) signal.addEventListener('abort', runAll);
  all.add(callback);
  return () => {
    all.delete(callback);
    if (all.size === 0) signal.removeEventListener('abort', runAll);
  };
}

function runAll(this: AbortSignal): void {
  for (const callback of ends.get(this) ?? []) callback();
}
