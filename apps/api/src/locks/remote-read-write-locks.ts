import type { LockSide, ReadWriteLock } from '@mortise/locks';
import { Injectable } from '@nestjs/common';

import type { LeaseTerms, Lendable } from './remote-leases.js';
import { lent } from './remote-leases.js';
import type { SeenReadWriteLock } from './seen-state.js';
import { seenReadWriteLock, unlessUnreadable } from './seen-state.js';
import { TenantLocks } from './tenant-locks.js';

export type Mode = 'read' | 'write';

/** The read-write locks of @mortise/locks under the prefix of the tenant: programs that use the package share them. */
@Injectable()
export class RemoteReadWriteLocks {
  constructor(private readonly locks: TenantLocks) {}

  lendable(name: string, mode: Mode, terms: LeaseTerms = {}): Lendable {
    const side = this.#sideOf(name, mode, terms);
    return {
      shown: `read-write lock "${name}"`,
      fields: { lockName: name },
      entity: `read-write-lock:${name}`,
      acquire: async (options) => lent(await side.acquire(options)),
      tryAcquire: async () => {
        const lease = await side.tryAcquire();
        return lease && lent(lease);
      },
      // An earlier request with the same key may have been of the other side.
      renewFor: (holder, termMs, [token]) =>
        this.#sideOf(name, modeOf(holder)).renewFor(holder, termMs, token),
      releaseFor: (holder) => side.releaseFor(holder),
      obstacle: async () => ({ remainingMs: Math.ceil((await side.inspect()).remainingMs) }),
    };
  }

  /** Takes it from all holders of a side. Returns whether there was one. */
  forceRelease(name: string, mode: Mode): Promise<boolean> {
    return this.#sideOf(name, mode).forceRelease();
  }

  /** The state of the lock; null if it cannot be read. One round trip. */
  async inspect(name: string): Promise<SeenReadWriteLock | null> {
    const state = await unlessUnreadable(() => this.#sideOf(name, 'read').inspect());
    return state && seenReadWriteLock(state);
  }

  #sideOf(name: string, mode: Mode, { leaseMs, owner }: LeaseTerms = {}): LockSide {
    const lock: ReadWriteLock = this.locks.current.readWriteLock(name, { leaseMs, owner });
    return lock[mode];
  }
}

/** The holder of a lease names its side. */
export function modeOf(holder: string): Mode {
  return holder.endsWith('.r') ? 'read' : 'write';
}
