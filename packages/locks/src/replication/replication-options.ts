import { requireInteger } from '@mortise/redis';

/** How many replicas acknowledge a grant before the caller gets it. */
export interface ReplicationOptions {
  /**
   * Number of replicas that must acknowledge a grant before the caller gets it: from 0 to 100. If fewer do so within
   * `replicasWaitMs`, the lock is given back and the call rejects with LockReplicasError. A failover is then less likely to
   * give the lock to a second holder, but still may: Redis may promote a replica without the grant. Renewals wait for no
   * replica. Costs a connection for each client (on Cluster for each master), a write, and a share of a WAIT. Only for
   * Mutex. Default 0: no replica.
   */
  readonly minReplicas?: number | undefined;
  /**
   * How long to wait for the replicas, in ms: a whole number from 1 to half of `leaseMs`. Default 1,000, or half of
   * `leaseMs` if that is less. It counts against the lease and against `waitMs`.
   */
  readonly replicasWaitMs?: number | undefined;
}

export interface ReplicationTerms {
  readonly minReplicas: number;
  readonly replicasWaitMs: number;
}

const REPLICATION_DEFAULTS = { minReplicas: 0, replicasWaitMs: 1_000 };

export function resolveReplicationOptions(options: ReplicationOptions, leaseMs: number): ReplicationTerms {
  const max = Math.floor(leaseMs / 2);
  const { minReplicas = REPLICATION_DEFAULTS.minReplicas } = options;
  const { replicasWaitMs = Math.min(REPLICATION_DEFAULTS.replicasWaitMs, max) } = options;
  requireInteger('minReplicas', minReplicas, { min: 0, max: 100 });
  requireInteger('replicasWaitMs', replicasWaitMs, { min: 1, max });
  return { minReplicas, replicasWaitMs };
}
