import { setTimeout as pause } from 'node:timers/promises';

/** Looks until `condition` gives something other than false, undefined or null, and gives that; throws after the deadline. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  deadlineMs = 30_000,
): Promise<T> {
  const deadlineAt = performance.now() + deadlineMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false && value !== null) return value;
    if (performance.now() > deadlineAt) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await pause(5);
  }
}
