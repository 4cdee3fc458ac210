/**
 * The state of a lock or semaphore for the API, whatever its keys contain: other programs may have written there, and
 * operators want to see the rest. A value that cannot be shown becomes null or the nearest valid one. An unreadable state
 * is null, and never looks like a free lock.
 */
import type { MutexState, ReadWriteLockState, SemaphoreState } from '@mortise/locks';

import { Problem } from '../problems/problem.js';

export interface SeenLock {
  readonly holder: string | null;
  readonly owner: string | null;
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
}

export interface SeenSemaphore {
  readonly limit: number | null;
  readonly used: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
  readonly holders: {
    readonly holder: string;
    readonly owner: string | null;
    readonly permits: number;
    readonly remainingMs: number;
  }[];
}

/** For holders of other programs. */
const MAX_HOLDER_LENGTH = 256;

/** Null if it cannot be read. */
export function seenLock(state: MutexState): SeenLock | null {
  const { holder, fencingToken, remainingMs, queueLength, longestWaitMs } = state;
  if (!isCount(queueLength)) return null;
  return {
    holder: holder === null ? null : seenHolder(holder),
    owner: holder === null ? null : ownerOf(holder),
    fencingToken: isCount(fencingToken) && fencingToken > 0 ? fencingToken : null,
    remainingMs: seenMs(remainingMs),
    queueLength,
    longestWaitMs: seenMs(longestWaitMs),
  };
}

/** Null if it cannot be read. @param limit Null: no semaphore of this name exists. */
export function seenSemaphore(
  limit: number | null,
  { used, queueLength, longestWaitMs, holders }: Omit<SemaphoreState, 'limit'>,
): SeenSemaphore | null {
  if (!isCount(used) || !isCount(queueLength) || !(limit === null || (isCount(limit) && limit > 0)))
    return null;
  return {
    limit,
    used,
    queueLength,
    longestWaitMs: seenMs(longestWaitMs),
    holders: holders.map(({ holder, permits, remainingMs }) => ({
      holder: seenHolder(holder),
      owner: ownerOf(holder),
      // The scripts also count one permit for a holder without a number.
      permits: isCount(permits) && permits > 0 ? permits : 1,
      remainingMs: seenMs(remainingMs),
    })),
  };
}

export interface SeenReadWriteLock {
  readonly writer: string | null;
  readonly readers: number;
  readonly firstReaders: string[];
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
}

/** Null if it cannot be read. */
export function seenReadWriteLock(state: ReadWriteLockState): SeenReadWriteLock | null {
  const { writer, readers, firstReaders, fencingToken, remainingMs, queueLength, longestWaitMs } = state;
  if (!isCount(readers) || !isCount(queueLength)) return null;
  return {
    writer: writer === null ? null : seenHolder(writer),
    readers,
    firstReaders: firstReaders.map(seenHolder),
    fencingToken: isCount(fencingToken) && fencingToken > 0 ? fencingToken : null,
    remainingMs: seenMs(remainingMs),
    queueLength,
    longestWaitMs: seenMs(longestWaitMs),
  };
}

/** The result of `look`; null if its script fails on its keys, such as a key of another type. */
export async function unlessUnreadable<State>(look: () => Promise<State>): Promise<State | null> {
  try {
    return await look();
  } catch (error) {
    // The end of Redis' message about an error inside a script.
    if (error instanceof Error && error.message.includes('@user_script:')) return null;
    throw error;
  }
}

/** The problem for a state that cannot be read. */
export function unreadable(
  kind: 'lock' | 'semaphore' | 'read-write lock' | 'rate limit',
  name: string,
): Problem {
  return new Problem('redis-unavailable', `the keys of the ${kind} "${name}" hold no state of a ${kind}`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** 0 for a lease without an end, which our locks never have. */
function seenMs(ms: number): number {
  return ms > 0 ? Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER) : 0;
}

/** Cut, and without halves of surrogate pairs. */
function seenHolder(holder: string): string {
  return holder.slice(0, MAX_HOLDER_LENGTH).toWellFormed();
}

/** The label in a holder of @mortise/locks: `<client>.<acquisition>~<owner>.…` */
function ownerOf(holder: string): string | null {
  return /^[\w-]+\.[a-z\d]+~([\w@-]{1,64})\./.exec(holder)?.[1] ?? null;
}
