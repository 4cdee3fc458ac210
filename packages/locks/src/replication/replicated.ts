/**
 * `acquire` and `tryAcquire` of a lock whose grants have to be acknowledged by replicas. A grant is given to the caller only
 * then; another one is given back. Renewals wait for nobody: a failover that loses one takes the lease back to an end that
 * is a third of a lease earlier, and the next renewal, due before that, lengthens it again.
 */
import type { RedisClient } from '@mortise/redis';
import { LockReplicationError } from '../errors.js';
import type { ResolvedAcquireOptions } from '../options.js';
import type { AcquireTerms, Attempt } from '../waiting/acquire.js';
import { acquireBy, isInTime, tryAcquire } from '../waiting/acquire.js';
import type { Contender } from '../waiting/contender.js';
import type { Grant } from '../waiting/turn.js';
import { Turn } from '../waiting/turn.js';
import type { Acknowledgement, Confirmation } from './confirmations.js';
import { Confirmations } from './confirmations.js';
import { masterOf } from './master-of.js';
import type { ReplicationTerms } from './replication-options.js';

export interface ReplicatedTerms extends AcquireTerms, ReplicationTerms {}

export class Replicated {
  readonly #contender: Contender;
  readonly #terms: ReplicatedTerms;
  readonly #redis: RedisClient;

  constructor(redis: RedisClient, contender: Contender, terms: ReplicatedTerms) {
    this.#contender = contender;
    this.#terms = terms;
    this.#redis = redis;
  }

  /** Waits for its turn, and then for the replicas. Rejects with LockReplicationError when these don't follow. */
  async acquire(options: ResolvedAcquireOptions): Promise<Grant> {
    const grant = await acquireBy(() => this.#begin(), options);
    return this.#terms.isFenced ? grant : { ...grant, fencingToken: 0 };
  }

  /** Asks once, and then waits for the replicas. Rejects with LockReplicationError when these don't follow. */
  async tryAcquire(): Promise<Grant | null> {
    const grant = await tryAcquire(this.#contender, this.#terms);
    if (!grant) return null;
    const confirmed = await this.#confirm(grant);
    if (isInTime(confirmed)) return confirmed;
    await this.#giveBack(confirmed);
    return null;
  }

  #begin(): Attempt<Grant> {
    const turn = new Turn(this.#contender, this.#terms);
    return {
      granted: turn.granted.then((grant) => grant && this.#confirm(grant)),
      waitsFor: turn.waitsFor,
      get failure() {
        return turn.failure;
      },
      leave: () => turn.leave(),
    };
  }

  /** The grant as a whole lease, counted from before it was confirmed. One that isn't acknowledged is given back first. */
  async #confirm(grant: Grant): Promise<Grant> {
    const { name, gate, leaseMs, minReplicas, replicasWaitMs } = this.#terms;
    const { member } = grant;
    const confirmation = { lease: gate.id, member, leaseMs, minReplicas, replicasWaitMs };
    const { acknowledged, sentAt, cause } = await this.#ask(confirmation);
    if (acknowledged >= minReplicas) return { ...grant, startsAt: sentAt, termMs: leaseMs };
    await this.#giveBack(grant);
    const options = cause === undefined ? undefined : { cause };
    throw new LockReplicationError(name, minReplicas, acknowledged, options);
  }

  async #ask(confirmation: Confirmation): Promise<Acknowledgement> {
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
      // Without a connection nothing can be given back: the lease runs out by itself.
    }
  }
}
