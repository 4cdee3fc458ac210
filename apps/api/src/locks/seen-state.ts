/**
 * What the API says of a lock or semaphore, whatever lies under its keys: other programs may have written there, and
 * whoever looks wants to see the rest. What cannot be told as it is becomes null or the nearest that can; where nothing
 * can be told, there is no state, rather than one that says that the lock is free.
 */
import type { MutexState, SemaphoreState } from '@mortise/locks';

import { Problem } from '../problems/problem.js';

export interface SeenLock {
  readonly holder: string | null;
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
}

export interface SeenSemaphore {
  readonly limit: number | null;
  readonly used: number;
  readonly queueLength: number;
  readonly holders: { readonly holder: string; readonly permits: number; readonly remainingMs: number }[];
}

/** Of a holder that is none of ours. */
const MAX_HOLDER_LENGTH = 256;

/** Null if it cannot be told. */
export function seenLock({ holder, fencingToken, remainingMs, queueLength }: MutexState): SeenLock | null {
  if (!isCount(queueLength)) return null;
  return {
    holder: holder === null ? null : seenHolder(holder),
    fencingToken: isCount(fencingToken) && fencingToken > 0 ? fencingToken : null,
    remainingMs: seenMs(remainingMs),
    queueLength,
  };
}

/** Null if it cannot be told. @param limit Null: there is no semaphore of this name. */
export function seenSemaphore(
  limit: number | null,
  { used, queueLength, holders }: Omit<SemaphoreState, 'limit'>,
): SeenSemaphore | null {
  if (!isCount(used) || !isCount(queueLength) || !(limit === null || (isCount(limit) && limit > 0)))
    return null;
  return {
    limit,
    used,
    queueLength,
    holders: holders.map(({ holder, permits, remainingMs }) => ({
      holder: seenHolder(holder),
      // As the scripts count one whose name doesn't say how many it holds.
      permits: isCount(permits) && permits > 0 ? permits : 1,
      remainingMs: seenMs(remainingMs),
    })),
  };
}

/** What `look` resolves to; null if its script fails over what it finds, such as a key of another type. */
export async function unlessUnreadable<State>(look: () => Promise<State>): Promise<State | null> {
  try {
    return await look();
  } catch (error) {
    // How Redis ends the message of what failed within a script.
    if (error instanceof Error && error.message.includes('@user_script:')) return null;
    throw error;
  }
}

/** The answer to who looks at what cannot be told. */
export function unreadable(kind: 'lock' | 'semaphore', name: string): Problem {
  return new Problem(
    'redis-unavailable',
    `what Redis has under the keys of the ${kind} "${name}" is no state of one`,
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Of a lease without an end, which no lock of ours has, 0. */
function seenMs(ms: number): number {
  return ms > 0 ? Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER) : 0;
}

/** Cut, and without halves of surrogate pairs. */
function seenHolder(holder: string): string {
  return holder.slice(0, MAX_HOLDER_LENGTH).toWellFormed();
}
