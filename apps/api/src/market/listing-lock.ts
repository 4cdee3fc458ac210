/**
 * The lock of one listing. `strategy: 'lock'` holds it from its first read of the listing to its last write.
 *
 * The lock is fine-grained: trades in different listings never wait for each other. It does not cover the funds, items and
 * request keys that listings share. Locking those too would queue all trades with a popular seller one after the other, and
 * trades by script would still ignore that queue. So the writing scripts check what the decision rests on, and a decision
 * that no longer holds is made again.
 */
import type { RedisClient } from '@mortise/redis';
import { LockTimeoutError, Mutex } from '@mortise/locks';

import { StaleTokenError } from './errors.js';
import type { ResolvedMarketOptions } from './options.js';
import type { Reply } from './types.js';

/** How long the last fencing token of a listing is kept: longer than a paused process can keep its socket. */
export const FENCE_MS = 86_400_000;

export class ListingLock {
  readonly #redis: RedisClient;
  readonly #options: ResolvedMarketOptions;

  constructor(redis: RedisClient, options: ResolvedMarketOptions) {
    this.#redis = redis;
    this.#options = options;
  }

  /**
   * Runs `trade` with the fencing token of the lock. Runs it again when its data changed between its read and its write.
   * Throws ERR_LOCK_TIMEOUT when it gets no lock, or no quiet moment, within `lockWaitMs`. Throws ERR_STALE_TOKEN when the
   * lease was lost and a later holder has written. Two round trips besides those of `trade`. A holder that dies blocks the
   * listing for the rest of `lockLeaseMs`.
   */
  async hold(listingId: string, trade: (fencingToken: number) => Promise<Reply>): Promise<Reply> {
    const { prefix, lockLeaseMs: leaseMs, lockWaitMs: waitMs } = this.#options;
    const mutex = new Mutex(this.#redis, lockNameOf(listingId), { prefix, leaseMs, renew: false });
    await using lease = await mutex.acquire({ waitMs });
    const deadlineAt = performance.now() + waitMs;
    for (;;) {
      // No check of the lease here: it could expire between the check and the write. The writing script decides.
      const reply = await trade(lease.fencingToken);
      const [status, detail] = reply;
      if (status === 'stale-token') throw new StaleTokenError(listingId, lease.fencingToken, Number(detail));
      if (status !== 'changed') return reply;
      if (performance.now() >= deadlineAt) throw new LockTimeoutError(mutex.name, waitMs);
    }
  }
}

/** The name of the lock, for other programs that need exclusive access to the listing. */
export function lockNameOf(listingId: string): string {
  return `market:listing:${listingId}`;
}
