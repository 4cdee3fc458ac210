import { setTimeout as sleep } from 'node:timers/promises';

const DEADLINE_MS = 40_000;

/** Resolves with the first answer that isn't undefined or false; rejects when there is none in time. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadlineAt = performance.now() + DEADLINE_MS;
  for (;;) {
    const answer = await look();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > deadlineAt) throw new Error(`waited in vain for ${what}`);
    await sleep(10);
  }
}
