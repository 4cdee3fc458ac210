import { setTimeout as pause } from 'node:timers/promises';

/** Returns the first value of `look` that is not undefined, null or false; fails after `withinMs`, naming `what`. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | null | false> | Value | undefined | null | false,
  withinMs = 180_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await pause(5);
  }
}
