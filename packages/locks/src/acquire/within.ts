import { onAbort } from '@mortise/redis';

/** What `within` answers when the time is up first. */
export const TIMED_OUT = Symbol('timed out');

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
    const unlisten = signal && onAbort(signal, () => end(() => reject(signal.reason as Error)));
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
