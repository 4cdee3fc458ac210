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

/** Too few replicas acknowledged a grant in time: it was given back. `cause` is why it could not even be confirmed, if so. */
export class LockReplicationError extends CodedError {
  readonly code = 'ERR_LOCK_REPLICAS';

  constructor(
    readonly lockName: string,
    readonly minReplicas: number,
    /** How many replicas have acknowledged it. */
    readonly acknowledged: number,
    options?: ErrorOptions,
  ) {
    super(
      `lock ${JSON.stringify(lockName)} was acknowledged by ${acknowledged} of ${minReplicas} replicas, and given back`,
      options,
    );
  }
}

/** The latch did not open in time. `cause` is what the last look at it failed with, if it failed. */
export class LatchTimeoutError extends CodedError {
  readonly code = 'ERR_LATCH_TIMEOUT';

  constructor(
    readonly latchName: string,
    readonly waitMs: number,
    options?: ErrorOptions,
  ) {
    super(`latch ${JSON.stringify(latchName)} did not open within ${waitMs} ms`, options);
  }
}

/** What was counted is gone: the latch was reset, or its keys were deleted or evicted. Counting begins anew. */
export class LatchLostError extends CodedError {
  readonly code = 'ERR_LATCH_LOST';

  constructor(readonly latchName: string) {
    super(`latch ${JSON.stringify(latchName)} was reset or lost while somebody waited for it`);
  }
}

/** Others use the latch with another count. Nothing was counted. */
export class LatchCountError extends CodedError {
  readonly code = 'ERR_LATCH_COUNT';

  constructor(
    readonly latchName: string,
    /** The caller's. */
    readonly count: number,
    /** The one that the latch began with. */
    readonly knownCount: number,
  ) {
    super(`latch ${JSON.stringify(latchName)} has the count ${knownCount}, not ${count}`);
  }
}

/** Others use the semaphore with another limit. Nothing was acquired; a waiter has left the queue. */
export class SemaphoreLimitError extends CodedError {
  readonly code = 'ERR_SEMAPHORE_LIMIT';

  constructor(
    readonly semaphoreName: string,
    /** The caller's. */
    readonly limit: number,
    /** The one that the semaphore has in Redis. */
    readonly knownLimit: number,
  ) {
    super(`semaphore ${JSON.stringify(semaphoreName)} has the limit ${knownLimit}, not ${limit}`);
  }
}

/** Too few of the nodes of a quorum answered to decide anything. */
export class QuorumUnreachableError extends CodedError {
  readonly code = 'ERR_QUORUM_UNREACHABLE';

  constructor(
    readonly lockName: string,
    readonly nodes: number,
    /** How many votes are a majority. */
    readonly needed: number,
    /** What kept nodes from answering, by the index of the client. */
    readonly causes: ReadonlyMap<number, unknown>,
  ) {
    const reasons = Array.from(causes, ([index, cause]) => `${index}: ${(cause as Error)?.message ?? cause}`);
    super(
      `lock ${JSON.stringify(lockName)} needs ${needed} of ${nodes} nodes, of which ${causes.size} failed (${reasons.join('; ')})`,
      { cause: causes.values().next().value },
    );
  }
}

/** One node of a quorum did not answer in time, or still owes an answer from before: a cause of ERR_QUORUM_UNREACHABLE. */
export class QuorumNodeTimeoutError extends CodedError {
  readonly code = 'ERR_QUORUM_NODE_TIMEOUT';

  constructor(readonly nodeTimeoutMs: number) {
    super(`the node did not answer within ${nodeTimeoutMs} ms`);
  }
}
