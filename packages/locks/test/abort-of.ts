/** Resolves with the instant at which a signal is aborted, on the clock of `performance.now()`. */
export function abortOf(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(performance.now());
    signal.addEventListener('abort', () => resolve(performance.now()), { once: true });
  });
}
