/**
 * The lock of one listing: what `strategy: 'lock'` holds from its first look at the listing to its last write.
 *
 * Fine-grained: those who trade in different listings never wait for each other. It does not cover the purses, the
 * items and the request keys that listings share. To lock them as well would bring all who trade with one popular
 * seller into one line, and who trades without a lock would still not stand in it; so the scripts that write check
 * what was decided by once more, and a decision that no longer holds is made again.
 */
import type { RedisClient } from '@mortise/redis';
import { LockTimeoutError, Mutex } from '@mortise/locks';

import { StaleTokenError } from './errors.js';
import type { ResolvedMarketOptions } from './options.js';
import type { Reply } from './types.js';

/** How long the last fencing token of a listing is kept: longer than any process is paused that still has its socket. */
export const FENCE_MS = 86_400_000;

export class ListingLock {
  readonly #redis: RedisClient;
  readonly #options: ResolvedMarketOptions;

  constructor(redis: RedisClient, options: ResolvedMarketOptions) {
    this.#redis = redis;
    this.#options = options;
  }

  /**
   * Runs `trade` with the fencing token of the lock, and once more as long as what it read has changed before it could
   * write. Throws ERR_LOCK_TIMEOUT when the lock was not acquired or, then, the changes did not end within `lockWaitMs`, and
   * ERR_STALE_TOKEN when the lease was lost and somebody else has written since. Two round trips besides those of
   * `trade`. A holder that dies blocks the listing for the rest of `lockLeaseMs`.
   */
  async hold(listingId: string, trade: (fencingToken: number) => Promise<Reply>): Promise<Reply> {
    const { prefix, lockLeaseMs: leaseMs, lockWaitMs: waitMs } = this.#options;
    const mutex = new Mutex(this.#redis, lockNameOf(listingId), { prefix, leaseMs, renew: false });
    await using lease = await mutex.acquire({ waitMs });
    const deadlineAt = performance.now() + waitMs;
    for (;;) {
      // The end of the lease is not looked at: it could pass between the look and the write. The write judges.
      const reply = await trade(lease.fencingToken);
      const [status, detail] = reply;
      if (status === 'stale-token') throw new StaleTokenError(listingId, lease.fencingToken, Number(detail));
      if (status !== 'changed') return reply;
      if (performance.now() >= deadlineAt) throw new LockTimeoutError(mutex.name, waitMs);
    }
  }
}

/** The name of the lock, for other programs that want the same listing for themselves. */
export function lockNameOf(listingId: string): string {
  return `market:listing:${listingId}`;
}
