import { setTimeout as pause } from 'node:timers/promises';

/** What `look` returns as soon as that is neither undefined nor false; fails after five seconds. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | false>,
): Promise<Value> {
  const deadline = performance.now() + 5_000;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited 5 s for ${what}`);
    await pause(5);
  }
}
