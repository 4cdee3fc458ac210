import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName } from '@mortise/redis';
import { acquire, tryAcquire } from '../acquire/acquire.js';
import { LockClient } from '../acquire/lock-client.js';
import { SingleLockRequest } from '../acquire/single-lock-request.js';
import { MutexKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import { runUnder } from '../lease/using.js';
import type { AcquireOptions, MutexOptions } from '../options.js';
import {
  requireHolder,
  requireLeaseMs,
  resolveAcquireOptions,
  resolveMutexOptions,
  type ResolvedMutexOptions,
} from '../options.js';
import { Replicated } from '../replication/replicated.js';
import { resolveReplicationOptions } from '../replication/replication-options.js';
import { LockTelemetry, measured } from '../telemetry/lock-telemetry.js';
import { MutexGate } from './mutex-gate.js';

/** The state of a lock, from `inspect`. */
export interface MutexState {
  /** The `holder` of the present lease, or null. */
  readonly holder: string | null;
  /** The last fencing token, which is the holder's if there is one. Null if none is known. */
  readonly fencingToken: number | null;
  /** Remaining time of the holder's lease, ms; 0 for a free lock. */
  readonly remainingMs: number;
  /** Number of waiters. */
  readonly queueLength: number;
  /** Position in the queue, from 1, of this client's first waiter. Null if none waits. */
  readonly position: number | null;
}

interface Terms extends ResolvedMutexOptions {
  readonly name: string;
  readonly gate: MutexGate;
  readonly telemetry: LockTelemetry | undefined;
}

/**
 * An exclusive lock with a lease, a fencing token and, unless `fair` is false, one queue for all processes.
 *
 * Not reentrant: a holder that acquires it again waits for itself. An object is cheap, has no connection of its own and
 * needs no closing. Objects with the same name and prefix are the same lock. With `minReplicas`, the locks of a client
 * share one more connection (on Cluster, one for each master), which is closed after 30 s without use.
 */
export class Mutex {
  readonly name: string;
  readonly #client: LockClient;
  readonly #terms: Terms;
  /** Undefined if grants do not wait for replicas. */
  readonly #replicated: Replicated | undefined;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: MutexOptions = {}) {
    this.name = requireName('name', name);
    const resolved = resolveMutexOptions('Mutex', options);
    const gate = new MutexGate(requireClient(redis), new MutexKeys(name, options.prefix));
    this.#client = LockClient.of(redis);
    this.#terms = { name, gate, telemetry: LockTelemetry.of(options.telemetry, 'mutex'), ...resolved };
    const replication = resolveReplicationOptions(options, resolved.leaseMs);
    if (replication.minReplicas > 0) {
      this.#replicated = new Replicated(redis, this.#client, { ...this.#terms, ...replication });
    }
  }

  /**
   * Waits in the queue and resolves with the lock. Rejects with LockTimeoutError after `waitMs`, with the signal's reason
   * when it is aborted, and with ERR_CLIENT_CLOSED when the client is closed during the wait; then it leaves the queue.
   * Errors of ioredis pass through, also for a client that was already closed. A reply after the end of its lease is not an
   * acquired lock: it is given back, and the wait goes on. One round trip if the lock is free. Under contention one command
   * for each acquisition, and one for each process and second. O(log waiters).
   *
   * With `minReplicas`, a write confirms the grant, and the replicas must acknowledge it first, which takes two more round
   * trips and theirs. If they are too few or too late, the grant is given back and the call rejects with LockReplicasError.
   */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options);
    const waiting = this.#replicated
      ? this.#replicated.acquire(resolved)
      : acquire(this.#client, (waits) => this.#request(waits), resolved);
    return new Lease(this.#terms, await measured(this.#terms.telemetry, waiting));
  }

  /**
   * Resolves with the lock if it is free and nobody waits for it, else with null. Errors of ioredis pass through. One round
   * trip; three if a holder died unnoticed by its waiters. With `minReplicas` as `acquire`.
   */
  async tryAcquire(): Promise<Lease | null> {
    const trying = this.#replicated?.tryAcquire() ?? tryAcquire(this.#request(false));
    const grant = await measured(this.#terms.telemetry, trying);
    return grant && new Lease(this.#terms, grant);
  }

  /**
   * Acquires the lock, runs `section` and releases the lock. The section's signal is aborted when the lease ends too early,
   * and when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if the lease
   * ended before the section: then another holder may have come. A failed release does not hide the result, since the lease
   * expires. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /** The state of the lock at one instant, which may have changed when the reply arrives. One round trip, O(log waiters). */
  async inspect(): Promise<MutexState> {
    const { gate } = this.#terms;
    const { fencingToken, remainingMs, rank, ...rest } = await gate.inspect(this.#client.firstWaiting(gate));
    return {
      ...rest,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the lock away from its holder and grants it to the first waiter. Resolves to whether there was a holder. The
   * former holder learns of it at its next renewal: until then, only fencing tokens protect the resource. Two round trips,
   * O(log waiters). A command that the client resends takes the lock from nobody else: then `false` may also mean that the
   * first one was executed. A repeated call takes the lock from the next holder.
   */
  forceRelease(): Promise<boolean> {
    return this.#terms.gate.forceRelease();
  }

  /**
   * Extends the lease of a holder to `leaseMs` from now, for a service that acquires locks for its clients. With the
   * `fencingToken` of the lease, Redis restores the lease if the keys of the lock were lost; pass it only before the end of
   * the lease. Resolves to false if that holder does not hold the lock. Throws TypeError for a value that is not the
   * `holder` of a lease. Safe to repeat. One round trip.
   */
  async renewFor(
    holder: string,
    leaseMs: number = this.#terms.leaseMs,
    fencingToken: number = 0,
  ): Promise<boolean> {
    const member = requireHolder(holder);
    requireInteger('fencingToken', fencingToken, { min: 0 });
    const reply = await this.#terms.gate.renew({ member, fencingToken }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases the lock of a holder, for a service that acquires locks for its clients. Resolves to false if that holder does
   * not hold the lock: then nothing changes. Throws TypeError for a value that is not the `holder` of a lease. Safe to
   * repeat: then `false` may also mean that the first call was executed. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    return gate.release({ member: requireHolder(holder), fencingToken: 0 }, isFair);
  }

  #request(waits: boolean): SingleLockRequest {
    return new SingleLockRequest(this.#client, this.#terms, waits);
  }
}
