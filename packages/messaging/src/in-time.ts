import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, isClosed, onAbort } from '@mortise/redis';

/** What `inTime` resolves to when the instant comes first. */
export const LATE = Symbol('late');

/** The longest delay of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * What the work resolves to, or rejects with; LATE when it has not ended at an instant on the clock of `performance.now()`. What has
 * arrived by then counts, also when the process itself was held up. Rejects with the reason of the signal as soon as that is
 * aborted. The work itself can't be stopped, but nobody waits for it any more, and nothing is made of its end.
 */
export async function inTime<Result>(
  work: Promise<Result>,
  deadlineAt: number,
  signal?: AbortSignal,
): Promise<Result | typeof LATE> {
  if (!signal && deadlineAt === Infinity) return work;
  let unlisten: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;
  const ended = new Promise<typeof LATE>((resolve, reject) => {
    const end = (): void => reject(signal!.reason as Error);
    if (signal?.aborted) end();
    else if (signal) unlisten = onAbort(signal, end);
    const arm = (): void => {
      const left = deadlineAt - performance.now();
      // Behind the next look at the sockets.
      if (left <= 0) last = setImmediate(resolve, LATE);
      else timer = setTimeout(arm, Math.min(Math.ceil(left), MAX_TIMER_MS));
    };
    if (deadlineAt < Infinity) arm();
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    unlisten?.();
    clearTimeout(timer);
    clearImmediate(last);
  }
}

/** What a waiter asks of Redis, with the error of its wait when that fails because the client was closed meanwhile. */
export async function asWaiter<Result>(client: RedisClient, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw isClosed(client) ? new ClientClosedError() : error;
  }
}
