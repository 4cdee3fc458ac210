/** What `acquire` and `tryAcquire` of every lock do. */
import { LockTimeoutError } from '../errors.js';
import type { ResolvedAcquireOptions } from '../options.js';
import type { Contender } from './contender.js';
import type { AcquireReply } from './gate.js';
import type { Grant, TurnOptions } from './turn.js';
import { memberOf, Turn } from './turn.js';
import { TIMED_OUT, within } from './within.js';

export interface AcquireTerms extends TurnOptions {
  readonly name: string;
}

/** One try to get a grant, which whoever began it has to end if it is of no use. */
export interface Attempt<G extends Grant> {
  /** Null: begin anew. */
  readonly granted: Promise<G | null>;
  /** What is waited for. */
  readonly waitsFor: string;
  /** Why the state could not be looked at lately, if it could not. */
  readonly failure: unknown;
  leave(): void;
}

/** Waits for its turn. */
export async function acquire(
  contender: Contender,
  terms: AcquireTerms,
  options: ResolvedAcquireOptions,
): Promise<Grant> {
  const grant = await acquireBy(() => new Turn(contender, terms), options);
  return terms.isFenced ? grant : { ...grant, fencingToken: 0 };
}

/** Tries until one attempt gives a grant. One that comes after the end of its lease is given back, and the wait goes on. */
export async function acquireBy<G extends Grant>(
  begin: () => Attempt<G>,
  { waitMs, signal }: ResolvedAcquireOptions,
): Promise<G> {
  const deadlineAt = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const attempt = begin();
    try {
      const grant = await within(attempt.granted, deadlineAt - performance.now(), signal);
      if (grant === TIMED_OUT) throw timeout(attempt, waitMs);
      if (grant && isInTime(grant)) return grant;
    } catch (error) {
      attempt.leave();
      throw error;
    }
    attempt.leave();
    if (performance.now() >= deadlineAt) throw timeout(attempt, waitMs);
  }
}

/** Asks once. Those who wait may be dead; then nobody but us can take them out of the queue, and we ask again. */
export async function tryAcquire(contender: Contender, terms: AcquireTerms): Promise<Grant | null> {
  const { gate, leaseMs, isFair, isFenced } = terms;
  const member = memberOf(contender, contender.nextTurn(), terms);
  const ask = (): Promise<AcquireReply> =>
    gate.acquire({ member, leaseMs, mode: isFair ? 'try' : 'grab', isFenced });
  let reply: AcquireReply;
  try {
    reply = await ask();
    if (reply.outcome !== 'held' && reply.remainingMs < 0) {
      await gate.recheck([], 0);
      reply = await ask();
    }
  } catch (error) {
    // The command may have been carried out all the same. What cannot be given back either ends by itself.
    gate.release({ member, fencingToken: 0 }, isFair).catch(() => undefined);
    throw error;
  }
  if (reply.outcome !== 'held') return null;
  const grant = { member, fencingToken: reply.value, startsAt: reply.sentAt, termMs: leaseMs };
  if (isInTime(grant)) return grant;
  await gate.release({ member, fencingToken: 0 }, isFair);
  return null;
}

export function isInTime({ startsAt, termMs }: Grant): boolean {
  return performance.now() < startsAt + termMs;
}

function timeout({ waitsFor, failure }: Attempt<Grant>, waitMs: number): LockTimeoutError {
  return new LockTimeoutError(waitsFor, waitMs, failure === undefined ? undefined : { cause: failure });
}
