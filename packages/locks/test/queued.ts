import { until } from '@mortise/test-kit';

/** Resolves when so many wait for the lock. */
export function queued(
  mutex: { inspect(): Promise<{ queueLength: number }> },
  length: number,
): Promise<boolean> {
  return until(`${length} waiters`, async () => (await mutex.inspect()).queueLength === length);
}
