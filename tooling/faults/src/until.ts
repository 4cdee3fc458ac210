/** Looks every few ms until `condition` gives something, and fails with `what` after `withinMs`. */
export async function until<Value>(
  what: string,
  withinMs: number,
  condition: () => Promise<Value | undefined | false> | Value | undefined | false,
): Promise<Value> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > endsAt) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
