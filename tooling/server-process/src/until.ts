import { setTimeout as wait } from 'node:timers/promises';

import { DeadlineError, messageOf, StartFailedError } from './errors.js';

export interface UntilOptions {
  /** The awaited event, for the error: "waited 5000 ms for <what>". */
  what: string;
  /** @defaultValue 30000 */
  deadlineMs?: number;
  /** Pause between two looks. @defaultValue 10 */
  everyMs?: number;
  /** Added to the error: the tail of a log, usually. */
  details?: () => string;
}

/**
 * Looks at a condition until it returns something other than `undefined` or `false`, and returns that. An error of the
 * condition counts as "not yet" and shows in the {@link DeadlineError}, except for a {@link StartFailedError}, which ends the wait:
 * a server that has ended won't become ready.
 */
export async function until<T>(
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  options: UntilOptions,
): Promise<T> {
  const { what, deadlineMs = 30_000, everyMs = 10, details } = options;
  const deadline = performance.now() + deadlineMs;
  let last: string;
  do {
    try {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
      last = 'it was not so yet';
    } catch (error) {
      if (error instanceof StartFailedError) throw error;
      last = messageOf(error);
    }
    await wait(everyMs);
  } while (performance.now() < deadline);
  throw new DeadlineError(`waited ${deadlineMs} ms for ${what}: ${last}${details ? `\n${details()}` : ''}`);
}
