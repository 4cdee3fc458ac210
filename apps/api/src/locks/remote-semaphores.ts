import { Injectable } from '@nestjs/common';
import type { Semaphore } from '@mortise/locks';

import type { LeaseTerms, Lendable } from './remote-leases.js';
import { lent, refuseHolder } from './remote-leases.js';
import type { SeenSemaphore } from './seen-state.js';
import { seenSemaphore, unlessUnreadable } from './seen-state.js';
import { TenantLocks } from './tenant-locks.js';

/** A limit for inspecting, renewing and releasing, which never create a semaphore: higher than a client may choose. */
const NO_LIMIT = 1_000_000;

/** The semaphores of @mortise/locks under the prefix of the tenant: programs that use the package share them. */
@Injectable()
export class RemoteSemaphores {
  constructor(private readonly locks: TenantLocks) {}

  /** @param wish `take` of the `permits` of the semaphore. */
  lendable(
    name: string,
    wish: LeaseTerms & { readonly permits: number; readonly take: number } = { permits: NO_LIMIT, take: 1 },
  ): Lendable {
    const { permits, take, leaseMs, owner } = wish;
    const semaphore = this.locks.current.semaphore(name, { permits, leaseMs, owner });
    return {
      shown: `semaphore "${name}"`,
      fields: { semaphoreName: name },
      entity: `semaphore:${name}`,
      acquire: async (options) => lent(await semaphore.acquire({ ...options, permits: take })),
      tryAcquire: async () => {
        const lease = await semaphore.tryAcquire({ permits: take });
        return lease && lent(lease);
      },
      renewFor: (holder, termMs, [token]) => semaphore.renewFor(holder, termMs, token),
      releaseFor: (holder) => semaphore.releaseFor(holder),
      obstacle: async () => {
        const { limit, used } = await semaphore.inspect();
        return { limit, used };
      },
    };
  }

  /** Takes the permits away from a holder. Returns whether it had some. Throws the problem `invalid-body`. One round trip. */
  async forceRelease(name: string, holder: string): Promise<boolean> {
    return this.#semaphore(name).forceRelease(holder).catch(refuseHolder);
  }

  /** Changes the limit for all. One round trip, and more when many waiters get permits. */
  async setPermits(name: string, permits: number): Promise<void> {
    await this.#semaphore(name).setPermits(permits);
  }

  /**
   * The state of the semaphore; its limit is null when no such semaphore exists. Null if it cannot be read. One round trip.
   */
  async inspect(name: string): Promise<SeenSemaphore | null> {
    const state = await unlessUnreadable(() => this.#semaphore(name).inspect());
    if (!state) return null;
    const { limit, used } = state;
    return seenSemaphore(limit === NO_LIMIT && used === 0 ? null : limit, state);
  }

  #semaphore(name: string): Semaphore {
    return this.locks.current.semaphore(name, { permits: NO_LIMIT });
  }
}
