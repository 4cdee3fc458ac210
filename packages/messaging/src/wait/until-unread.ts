import type { RedisClient, WaiterHub } from '@mortise/redis';
import { ClientClosedError, isClosed, TIMED_OUT, waitFor } from '@mortise/redis';
import { ReadTimeoutError } from '../errors.js';
import { Pacer } from './pacer.js';
import { Updates } from './updates.js';

interface Wait<Found> {
  /** The recipient or member, for the error. */
  readonly reader: string;
  /** 0: a single look. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  /** The channels with updates, after a look. */
  readonly channelsOf: (found: Found) => readonly string[];
  /** Whether there may be something new after a message. */
  readonly isUpdate: (body: Buffer) => boolean;
}

/** An update may be lost with its connection; a wait looks again after this time, and when the pacer calls. */
const RECHECK_MS = 5_000;
/** A look is up to four commands, so all waits of a process together cost at most sixteen commands a second. */
const pacer = /* @__PURE__ */ new Pacer(250);
/** Time limit of the last look of a wait. */
export const LAST_ANSWER_MS = 1_000;

/**
 * Looks until something is unread or `waitMs` is over; returns what the last look found. Rejects with ERR_READ_TIMEOUT if
 * that look has no answer in time, with the signal's reason, and with ERR_CLIENT_CLOSED.
 */
export async function untilUnread<Found>(
  { redis, hub }: { readonly redis: RedisClient; readonly hub: WaiterHub },
  look: () => Promise<Found>,
  isUnread: (found: Found) => boolean,
  { reader, waitMs, signal, channelsOf, isUpdate }: Wait<Found>,
): Promise<Found> {
  signal?.throwIfAborted();
  if (waitMs === 0) return waitFor(look(), { signal });
  const deadlineAt = performance.now() + waitMs;
  const lookInTime = async (): Promise<Found> => {
    const lastMs = deadlineAt + LAST_ANSWER_MS - performance.now();
    const found = await waitFor(orClosed(redis, look()), { waitMs: lastMs, signal });
    if (found === TIMED_OUT) throw new ReadTimeoutError(reader, waitMs);
    return found;
  };
  let found = await lookInTime();
  if (isUnread(found)) return found;
  const updates = new Updates(hub, isUpdate);
  try {
    for (;;) {
      // The look after the subscription finds messages that came before it.
      const listening = updates.listen(channelsOf(found));
      await waitFor(listening, { waitMs: deadlineAt - performance.now(), signal });
      found = await lookInTime();
      const now = performance.now();
      if (isUnread(found) || now >= deadlineAt) return found;
      if (!updates.hasAll(channelsOf(found))) continue;
      if (await updates.next(Math.min(deadlineAt - now, RECHECK_MS), signal)) continue;
      const leftMs = deadlineAt - performance.now();
      if (leftMs > 0) await updates.nextOrPaced(pacer, leftMs, signal);
    }
  } finally {
    updates.close();
  }
}

/** Settles as `work` does, but rejects with ClientClosedError if it fails after the client was closed. */
async function orClosed<Result>(client: RedisClient, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw isClosed(client) ? new ClientClosedError() : error;
  }
}
