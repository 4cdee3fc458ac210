import { until as untilNamed } from '@mortise/test-kit';

export { gate } from '@mortise/test-kit';

const DEADLINE_MS = 40_000;

/** What the condition gives as soon as that is true, in the sense of JavaScript; a failure shows its text. */
export async function until<Value>(
  condition: () => Promise<Value> | Value,
  withinMs = DEADLINE_MS,
): Promise<Value> {
  return untilNamed(String(condition), async () => (await condition()) || undefined, withinMs);
}
