import { Injectable } from '@nestjs/common';

import type { LeaseTerms, Lendable } from './remote-leases.js';
import { lent } from './remote-leases.js';
import type { SeenLock } from './seen-state.js';
import { seenLock, unlessUnreadable } from './seen-state.js';
import { TenantLocks } from './tenant-locks.js';

/** The locks of @mortise/locks under the prefix of the tenant: programs that use the package share them. */
@Injectable()
export class RemoteLocks {
  constructor(private readonly locks: TenantLocks) {}

  lendable(name: string, { leaseMs, owner }: LeaseTerms = {}): Lendable {
    const mutex = this.locks.current.mutex(name, { leaseMs, owner });
    return {
      shown: `lock "${name}"`,
      fields: { lockName: name },
      entity: `lock:${name}`,
      acquire: async (options) => lent(await mutex.acquire(options)),
      tryAcquire: async () => {
        const lease = await mutex.tryAcquire();
        return lease && lent(lease);
      },
      renewFor: (holder, termMs, [token]) => mutex.renewFor(holder, termMs, token),
      releaseFor: (holder) => mutex.releaseFor(holder),
      obstacle: async () => ({ remainingMs: (await mutex.inspect()).remainingMs }),
    };
  }

  /** Releases the lock whoever holds it. Returns whether it had a holder. One round trip. */
  forceRelease(name: string): Promise<boolean> {
    return this.locks.current.mutex(name).forceRelease();
  }

  /** The state of the lock; null if it cannot be read. One round trip. */
  async inspect(name: string): Promise<SeenLock | null> {
    const state = await unlessUnreadable(() => this.locks.current.mutex(name).inspect());
    return state && seenLock(state);
  }
}
