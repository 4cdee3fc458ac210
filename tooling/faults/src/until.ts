/** That of the test kit, for programs that run without a test. */
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 10;

/** Returns the first value of `look` that is not undefined, null or false; fails after `withinMs`, naming `what`. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | null | false> | Value | undefined | null | false,
  withinMs = 60_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}
