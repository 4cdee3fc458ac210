import { TIMED_OUT, waitFor } from '@mortise/redis';

/** The result, or undefined after `waitMs` or on an error. */
export async function bounded<Result>(work: Promise<Result>, waitMs: number): Promise<Result | undefined> {
  try {
    const result = await waitFor(work, { waitMs });
    return result === TIMED_OUT ? undefined : result;
  } catch {
    return undefined;
  }
}
