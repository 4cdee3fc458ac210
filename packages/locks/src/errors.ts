import { CodedError } from '@mortise/redis';

/** The lock was not acquired in time. The caller leaves the queue. */
export class LockTimeoutError extends CodedError {
  readonly code = 'ERR_LOCK_TIMEOUT';

  constructor(
    readonly lockName: string,
    readonly waitMs: number,
    options?: ErrorOptions,
  ) {
    super(`lock ${JSON.stringify(lockName)} was not acquired within ${waitMs} ms`, options);
  }
}

/**
 * Why a lease is over: `expired`: it ended before a renewal succeeded. `taken`: Redis knows another holder or none
 * (forced release, lost data). `released`: the holder gave it back itself.
 */
export type LeaseEnd = 'expired' | 'taken' | 'released';

const EXPLANATIONS: Record<LeaseEnd, string> = {
  expired: 'ended before a renewal succeeded',
  taken: 'was taken away: Redis does not know this holder any more',
  released: 'has been released',
};

/** The lease is over: somebody else may hold the lock. `cause` is what the last renewal failed with, if it failed. */
export class LeaseLostError extends CodedError {
  readonly code = 'ERR_LEASE_LOST';

  constructor(
    readonly lockName: string,
    readonly fencingToken: number,
    readonly reason: LeaseEnd,
    options?: ErrorOptions,
  ) {
    super(`lease ${fencingToken} of lock ${JSON.stringify(lockName)} ${EXPLANATIONS[reason]}`, options);
  }
}
