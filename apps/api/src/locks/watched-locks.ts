/** Locks that pages watch. A hand-over publishes to the next waiter alone, so one reader looks at each watched lock twice a second. */
import { Sampled } from '@mortise/redis';
import { Injectable } from '@nestjs/common';

import { currentTenant } from '../tenants/tenancy.js';
import type { SeenLock } from './seen-state.js';
import { seenLock, unlessUnreadable } from './seen-state.js';
import { TenantLocks } from './tenant-locks.js';

const EVERY_MS = 500;

@Injectable()
export class WatchedLocks {
  /** By tenant and name. */
  readonly #watched = new Map<string, Sampled<SeenLock | null>>();

  constructor(private readonly locks: TenantLocks) {}

  /** The lock of the tenant of the request, and each change of its holder or of its waiters, until the signal. */
  follow(name: string, signal: AbortSignal): AsyncIterable<SeenLock | null> {
    for (const [key, { isFollowed }] of this.#watched) if (!isFollowed) this.#watched.delete(key);
    const key = `${currentTenant()}\n${name}`;
    const its = this.#watched.get(key) ?? this.#watch(name);
    this.#watched.set(key, its);
    return its.follow(signal);
  }

  #watch(name: string): Sampled<SeenLock | null> {
    const mutex = this.locks.current.mutex(name);
    const read = async (): Promise<SeenLock | null> => {
      const state = await unlessUnreadable(() => mutex.inspect());
      return state && seenLock(state);
    };
    return new Sampled(read, EVERY_MS, isSame);
  }
}

/** A renewal changes the remaining time alone. */
function isSame(a: SeenLock | null, b: SeenLock | null): boolean {
  return a?.holder === b?.holder && a?.fencingToken === b?.fencingToken && a?.queueLength === b?.queueLength;
}
