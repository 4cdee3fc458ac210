const FIRST_MS = 500;
const LAST_MS = 30_000;
/** At most this part of a wait is left out at random, so that pages don't all come back at once. */
const JITTER = 0.5;

/** How long to wait before the next attempt, in ms. @param failures 0 after the first one. */
export function retryMsOf(failures: number, atLeastMs = 0): number {
  const ms = Math.min(FIRST_MS * 2 ** failures, LAST_MS);
  return Math.max(ms * (1 - JITTER * Math.random()), atLeastMs);
}

/** Resolves after the time, when the browser is online again, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      globalThis.removeEventListener?.('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    globalThis.addEventListener?.('online', end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
