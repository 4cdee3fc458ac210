import { setTimeout as pause } from 'node:timers/promises';

/** What `look` returns as soon as that is neither undefined nor false; fails after `withinMs`, naming `what`. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | false> | Value | undefined | false,
  withinMs = 20_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await pause(5);
  }
}
