/**
 * `acquire` and `tryAcquire` of a Mutex with `minReplicas`: the caller gets a grant after that many replicas have
 * acknowledged it; otherwise it is given back. Renewals wait for no replica. A failover that loses one moves the end of the
 * lease back by a third of a lease. The next renewal, due before that end, extends it again.
 */
import type { RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';
import type { PendingGrant } from '../acquire/acquire.js';
import { acquireBy, isInTime, tryAcquire } from '../acquire/acquire.js';
import type { Grant } from '../acquire/acquisition.js';
import { Acquisition } from '../acquire/acquisition.js';
import type { LockClient } from '../acquire/lock-client.js';
import type { LockTerms } from '../acquire/single-lock-request.js';
import { SingleLockRequest } from '../acquire/single-lock-request.js';
import { LockReplicasError, LockTimeoutError } from '../errors.js';
import type { ReplicationTerms, ResolvedAcquireOptions } from '../options.js';
import type { Acknowledgement, Confirmation } from './confirmations.js';
import { Confirmations } from './confirmations.js';

/** The members of ioredis' `Cluster` that a client lacks. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(): (RedisClient & { readonly options: { host?: string; port?: number } })[];
}

export interface ReplicatedTerms extends LockTerms, ReplicationTerms {}

export class Replicated {
  readonly #client: LockClient;
  readonly #terms: ReplicatedTerms;
  readonly #redis: RedisClient;

  constructor(redis: RedisClient, client: LockClient, terms: ReplicatedTerms) {
    this.#client = client;
    this.#terms = terms;
    this.#redis = redis;
  }

  /** Waits in the queue, then for the replicas. Rejects with LockReplicasError when too few acknowledge in time. */
  async acquire(options: ResolvedAcquireOptions): Promise<Grant> {
    if (options.waitMs > 0) return acquireBy(() => this.#begin(), options);
    options.signal?.throwIfAborted();
    const grant = await this.tryAcquire();
    if (!grant) throw new LockTimeoutError(this.#terms.name, options.waitMs);
    return grant;
  }

  /** Requests the lock once, then waits for the replicas. Rejects with LockReplicasError when too few acknowledge in time. */
  async tryAcquire(): Promise<Grant | null> {
    const grant = await tryAcquire(new SingleLockRequest(this.#client, this.#terms, false));
    if (!grant) return null;
    const confirmed = await this.#confirm(grant);
    if (isInTime(confirmed)) return confirmed;
    await this.#giveBack(confirmed);
    return null;
  }

  #begin(): PendingGrant<Grant> {
    const acquisition = new Acquisition(this.#client, new SingleLockRequest(this.#client, this.#terms, true));
    return {
      granted: acquisition.granted.then((grant) => grant && this.#confirm(grant)),
      waitsFor: acquisition.waitsFor,
      get failure() {
        return acquisition.failure;
      },
      leave: () => acquisition.leave(),
    };
  }

  /** The grant as a full lease, counted from before the write that confirms it. An unacknowledged grant is given back. */
  async #confirm(grant: Grant): Promise<Grant> {
    const { name, gate, leaseMs, minReplicas, replicasWaitMs } = this.#terms;
    const { member } = grant;
    const confirmation = { lease: gate.id, member, leaseMs, minReplicas, replicasWaitMs };
    const { acknowledged, sentAt, cause } = await this.#acknowledge(confirmation);
    if (acknowledged >= minReplicas) return { ...grant, startsAt: sentAt, termMs: leaseMs };
    await this.#giveBack(grant);
    const options = cause === undefined ? undefined : { cause };
    throw new LockReplicasError(name, minReplicas, acknowledged, options);
  }

  async #acknowledge(confirmation: Confirmation): Promise<Acknowledgement> {
    try {
      return await Confirmations.of(masterOf(this.#redis, confirmation.lease)).confirm(confirmation);
    } catch (cause) {
      return { acknowledged: 0, sentAt: 0, cause };
    }
  }

  async #giveBack({ member }: Grant): Promise<void> {
    try {
      await this.#terms.gate.release({ member, fencingToken: 0 }, this.#terms.isFair);
    } catch {
      // Without a connection nothing can be given back: the lease expires.
    }
  }
}

/**
 * The client that writes a key: the given client, or on Cluster that of the key's master. The master is known and
 * connected right after a grant; otherwise throws an Error.
 */
function masterOf(redis: RedisClient, key: string): RedisClient {
  if (!redis.isCluster) return redis;
  const cluster = redis as ClusterClient;
  const node = cluster.slots[keySlot(key)]?.[0];
  const master = cluster
    .nodes()
    .find(({ options }) => `${options.host ?? ''}:${options.port ?? ''}` === node);
  if (!master) throw new Error(`the master of ${JSON.stringify(key)} is not connected`);
  return master;
}
