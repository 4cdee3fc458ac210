import { until } from '@mortise/test-kit';

/** Resolves when the lock has this number of waiters. */
export function queued(
  mutex: { inspect(): Promise<{ queueLength: number }> },
  length: number,
): Promise<boolean> {
  return until(`${length} waiters`, async () => (await mutex.inspect()).queueLength === length);
}
