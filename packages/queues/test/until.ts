import { until as untilNamed } from '@mortise/test-kit';

export { gate } from '@mortise/test-kit';

const DEADLINE_MS = 40_000;

/** The first truthy value of the condition; a failure shows its text. */
export async function until<Value>(
  condition: () => Promise<Value> | Value,
  withinMs = DEADLINE_MS,
): Promise<Value> {
  return untilNamed(String(condition), async () => (await condition()) || undefined, withinMs);
}
