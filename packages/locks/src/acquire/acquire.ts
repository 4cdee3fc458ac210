/** `acquire` and `tryAcquire` of every lock. */
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { LockTimeoutError } from '../errors.js';
import type { ResolvedAcquireOptions } from '../options.js';
import type { Grant, LockRequest } from './acquisition.js';
import { Acquisition } from './acquisition.js';
import type { LockClient } from './lock-client.js';

/** A grant that the caller waits for. The caller ends it with `leave` if it no longer wants the grant. */
export interface PendingGrant<G extends Grant> {
  /** Null: start again. */
  readonly granted: Promise<G | null>;
  /** The name of the lock that blocks. */
  readonly waitsFor: string;
  /** The error if the state of the lock is unknown. */
  readonly failure: unknown;
  /** Resolves when the caller is in no queue any more, or Redis cannot be asked. Never rejects. Idempotent. */
  leave(): Promise<void>;
}

/** How long a failed acquisition waits until it has left its queue. Redis takes a round trip or two for that. */
const LEAVE_MS = 50;

/** Waits for the lock in its queue. `waitMs: 0` doesn't join the queue. */
export async function acquire<G extends Grant>(
  client: LockClient,
  request: (waits: boolean) => LockRequest<G>,
  options: ResolvedAcquireOptions,
): Promise<G> {
  const { waitMs, signal } = options;
  if (waitMs > 0) return acquireBy(() => new Acquisition(client, request(true)), options);
  signal?.throwIfAborted();
  const attempt = request(false);
  const grant = await tryAcquire(attempt);
  if (!grant) throw new LockTimeoutError(attempt.waitsFor, waitMs);
  return grant;
}

/**
 * Starts again until it gets a grant. A grant that arrives after the end of its lease is given back. Rejects when it has left the
 * queue, so that a caller who then closes the client leaves no entry behind; after `LEAVE_MS` at the latest.
 */
export async function acquireBy<G extends Grant>(
  begin: () => PendingGrant<G>,
  { waitMs, signal }: ResolvedAcquireOptions,
): Promise<G> {
  const deadlineAt = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const pending = begin();
    try {
      const grant = await waitFor(pending.granted, { waitMs: deadlineAt - performance.now(), signal });
      if (grant === TIMED_OUT) throw timeout(pending, waitMs);
      if (grant && isInTime(grant)) return grant;
    } catch (error) {
      await waitFor(pending.leave(), { waitMs: LEAVE_MS });
      throw error;
    }
    const left = pending.leave();
    if (performance.now() < deadlineAt) continue;
    await waitFor(left, { waitMs: LEAVE_MS });
    throw timeout(pending, waitMs);
  }
}

/**
 * Requests the lock once. A refusal of a free lock may come from dead waiters in its queue: then it re-checks the
 * queue and requests again, once for each lock.
 */
export async function tryAcquire<G extends Grant>(request: LockRequest<G>): Promise<G | null> {
  const rechecked = new Set<unknown>();
  try {
    for (;;) {
      const step = await request.send();
      if (step.outcome === 'held' && isInTime(step.grant)) return step.grant;
      if (step.outcome === 'refused') {
        if (step.reply.remainingMs >= 0 || rechecked.has(step.gate.id)) break;
        rechecked.add(step.gate.id);
        await step.gate.recheck([], 0);
      } else if (step.outcome !== 'next') {
        break;
      }
    }
  } catch (error) {
    // Redis may have run the command anyway. A grant that cannot be given back expires.
    request.giveBack().catch(() => undefined);
    throw error;
  }
  await request.giveBack();
  return null;
}

export function isInTime({ startsAt, termMs }: Grant): boolean {
  return performance.now() < startsAt + termMs;
}

function timeout({ waitsFor, failure }: PendingGrant<Grant>, waitMs: number): LockTimeoutError {
  return new LockTimeoutError(waitsFor, waitMs, failure === undefined ? undefined : { cause: failure });
}
