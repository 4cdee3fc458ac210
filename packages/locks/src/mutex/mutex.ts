import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import type { Grant } from '../acquire/acquisition.js';
import { LockClient } from '../acquire/lock-client.js';
import { MutexKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import type { SingleLockTerms } from '../lease/single-lock.js';
import { SingleLock } from '../lease/single-lock.js';
import type { MutexOptions, ResolvedAcquireOptions, ResolvedMutexOptions } from '../options.js';
import { resolveMutexOptions, resolveReplicationOptions } from '../options.js';
import { Replicated } from '../replication/replicated.js';
import { LockTelemetry } from '../telemetry/lock-telemetry.js';
import { MutexGate } from './mutex-gate.js';

/** The state of a lock, from `inspect`. */
export interface MutexState {
  /** The `holder` of the present lease, or null. */
  readonly holder: string | null;
  /** The last fencing token: the holder's, if there is a holder. Null if no token is known. */
  readonly fencingToken: number | null;
  /** Remaining time of the holder's lease, ms; 0 for a free lock. */
  readonly remainingMs: number;
  /** Number of waiters. */
  readonly queueLength: number;
  /** For how long the first waiter has waited, in whole ms; 0 without waiters. */
  readonly longestWaitMs: number;
  /**
   * Position in the queue, from 1, of this client's first waiter. Null without a waiter, and until the reply to a waiter has
   * arrived.
   */
  readonly position: number | null;
}

interface MutexTerms extends ResolvedMutexOptions, SingleLockTerms {
  readonly gate: MutexGate;
}

/**
 * An exclusive lock with a lease, a fencing token and, unless `fair` is false, one queue for all processes.
 *
 * A Mutex is not reentrant: a holder that acquires it again waits for itself. An object is cheap, has no connection of its own
 * and needs no closing. Objects with the same name and prefix are the same lock. With `minReplicas`, the locks of a client
 * share one more connection (on Cluster, one for each master), which is closed after 30 s without use. An acquisition then
 * takes two more round trips and the time of the replicas. If too few replicas acknowledge in time, the grant is given back and
 * the call rejects with LockReplicasError.
 */
export class Mutex extends SingleLock<MutexTerms> {
  readonly name: string;
  /** Undefined if grants do not wait for replicas. */
  readonly #replicated: Replicated | undefined;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: MutexOptions = {}) {
    const resolved = resolveMutexOptions('Mutex', options);
    const gate = new MutexGate(
      requireClient(redis),
      new MutexKeys(requireName('name', name), options.prefix),
    );
    const telemetry = LockTelemetry.of(options.telemetry, 'mutex');
    super(
      LockClient.of(redis),
      { name, gate, telemetry, ...resolved },
      (terms, grant) => new Lease(terms, grant),
    );
    this.name = name;
    const replication = resolveReplicationOptions(options, resolved.leaseMs);
    if (replication.minReplicas > 0) {
      this.#replicated = new Replicated(redis, this.client, { ...this.terms, ...replication });
    }
  }

  /** The state of the lock at one instant, which may have changed when the reply arrives. One round trip, O(log waiters). */
  async inspect(): Promise<MutexState> {
    const { gate } = this.terms;
    const { fencingToken, remainingMs, rank, ...rest } = await gate.inspect(this.client.firstWaiting(gate));
    return {
      ...rest,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the lock away from its holder and grants it to the first waiter. Resolves to whether there was a holder. The former
   * holder learns of the loss at its next renewal. Until then, only fencing tokens protect the resource. If the client resends
   * the command, no later holder loses the lock; then `false` may also mean that the first command was executed. A second call,
   * however, takes the lock from the next holder. Two round trips, O(log waiters).
   */
  forceRelease(): Promise<boolean> {
    return this.terms.gate.forceRelease();
  }

  protected override wait(terms: MutexTerms, options: ResolvedAcquireOptions): Promise<Grant> {
    return this.#replicated?.acquire(options) ?? super.wait(terms, options);
  }

  protected override try(terms: MutexTerms): Promise<Grant | null> {
    return this.#replicated?.tryAcquire() ?? super.try(terms);
  }
}
