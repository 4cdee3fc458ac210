import { setTimeout as pause } from 'node:timers/promises';

/** What `look` returns as soon as that is neither undefined nor false; fails after five seconds. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | false> | Value | undefined | false,
): Promise<Value> {
  const deadline = performance.now() + 5_000;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited 5 s for ${what}`);
    await pause(5);
  }
}

/** Resolves when so many wait for the lock. */
export function queued(
  mutex: { inspect(): Promise<{ queueLength: number }> },
  length: number,
): Promise<boolean> {
  return until(`${length} waiters`, async () => (await mutex.inspect()).queueLength === length);
}

/** Resolves with the instant at which a signal is aborted, on the clock of `performance.now()`. */
export function abortOf(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(performance.now());
    signal.addEventListener('abort', () => resolve(performance.now()), { once: true });
  });
}
