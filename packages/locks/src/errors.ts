import { CodedError } from '@mortise/redis';

/**
 * The lock, or the permits of a semaphore, were not acquired within `waitMs`. The caller leaves the queue. `cause` is
 * the error of the last call to Redis, if it failed.
 *
 * @remedy Try again later, or raise `waitMs`. Choose a shorter `leaseMs` if crashed holders block the lock.
 */
export class LockTimeoutError extends CodedError {
  static override readonly className: string = 'LockTimeoutError';
  readonly code = 'ERR_LOCK_TIMEOUT';

  constructor(
    readonly lockName: string,
    readonly waitMs: number,
    options?: ErrorOptions,
    kind: 'lock' | 'semaphore' = 'lock',
  ) {
    super(
      `${kind} ${JSON.stringify(lockName)} was not acquired within ${waitMs} ms`,
      options,
      'ERR_LOCK_TIMEOUT',
    );
  }
}

/**
 * Too few replicas acknowledged a grant in time, so the grant was given back. `cause` is the error of the confirmation, if that
 * call failed.
 *
 * @remedy Try again. If the error persists, repair the replicas or lower `minReplicas`.
 */
export class LockReplicasError extends CodedError {
  static override readonly className: string = 'LockReplicasError';
  readonly code = 'ERR_LOCK_REPLICAS';

  constructor(
    readonly lockName: string,
    readonly minReplicas: number,
    /** Number of replicas that acknowledged it. */
    readonly acknowledged: number,
    options?: ErrorOptions,
  ) {
    super(
      `lock ${JSON.stringify(lockName)} was acknowledged by ${acknowledged} of ${minReplicas} replicas, and given back`,
      options,
      'ERR_LOCK_REPLICAS',
    );
  }
}

/**
 * The latch did not open within `waitMs`. `cause` is the error of the last check, if it failed.
 *
 * @remedy Wait again: the latch goes on counting.
 */
export class LatchTimeoutError extends CodedError {
  static override readonly className: string = 'LatchTimeoutError';
  readonly code = 'ERR_LATCH_TIMEOUT';

  constructor(
    readonly latchName: string,
    readonly waitMs: number,
    options?: ErrorOptions,
  ) {
    super(
      `latch ${JSON.stringify(latchName)} did not open within ${waitMs} ms`,
      options,
      'ERR_LATCH_TIMEOUT',
    );
  }
}

/**
 * The count is gone: the latch was reset, or its keys were deleted or evicted. The next count-down begins a new
 * latch.
 *
 * @remedy Begin again, with a new latch. Redis must not evict keys: set `maxmemory-policy` to `noeviction`.
 */
export class LatchLostError extends CodedError {
  static override readonly className: string = 'LatchLostError';
  readonly code = 'ERR_LATCH_LOST';

  constructor(readonly latchName: string) {
    super(
      `latch ${JSON.stringify(latchName)} was reset or lost during the wait`,
      undefined,
      'ERR_LATCH_LOST',
    );
  }
}

/**
 * The latch began with another count, or the semaphore has another limit. The call changed nothing, and a waiter has left the
 * queue.
 *
 * @code ERR_SEMAPHORE_LIMIT The semaphore has another limit, or got one below the requested permits.
 * @remedy Pass `knownValue`, or change the limit for all with `setPermits`.
 * @code ERR_LATCH_COUNT The latch has another count.
 * @remedy Pass `knownValue`, or `reset` the latch.
 */
export class LockSettingsError extends CodedError {
  static override readonly className: string = 'LockSettingsError';
  readonly code: 'ERR_LATCH_COUNT' | 'ERR_SEMAPHORE_LIMIT';

  constructor(
    setting: 'count' | 'limit',
    readonly lockName: string,
    /** The caller's count or limit. */
    readonly value: number,
    /** The count or limit in Redis. */
    readonly knownValue: number,
  ) {
    const [kind, code] =
      setting === 'count'
        ? (['latch', 'ERR_LATCH_COUNT'] as const)
        : (['semaphore', 'ERR_SEMAPHORE_LIMIT'] as const);
    super(
      `${kind} ${JSON.stringify(lockName)} has the ${setting} ${knownValue}, not ${value}`,
      undefined,
      code,
    );
    this.code = code;
  }
}

/**
 * Too few nodes of a quorum replied, so there is no decision.
 *
 * @remedy Repair the nodes that `causes` names, then try again.
 */
export class QuorumUnreachableError extends CodedError {
  static override readonly className: string = 'QuorumUnreachableError';
  readonly code = 'ERR_QUORUM_UNREACHABLE';

  constructor(
    readonly lockName: string,
    readonly nodes: number,
    /** Number of votes for a majority. */
    readonly needed: number,
    /** The errors of the nodes that failed, by the index of the client. */
    readonly causes: ReadonlyMap<number, unknown>,
  ) {
    const reasons = Array.from(causes, ([index, cause]) => `${index}: ${(cause as Error)?.message ?? cause}`);
    super(
      `lock ${JSON.stringify(lockName)} needs ${needed} of ${nodes} nodes, of which ${causes.size} failed (${reasons.join('; ')})`,
      { cause: causes.values().next().value },
      'ERR_QUORUM_UNREACHABLE',
    );
  }
}
