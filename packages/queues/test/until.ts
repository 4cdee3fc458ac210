import { until as untilNamed } from '@mortise/test-kit';

/** Waits until the condition holds; a failure shows its text. */
export function until(condition: () => unknown, withinMs?: number): Promise<unknown> {
  return untilNamed(String(condition), async () => Boolean(await condition()), withinMs);
}

/** A promise that the test settles. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
