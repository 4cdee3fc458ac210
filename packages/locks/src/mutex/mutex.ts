import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName } from '@mortise/redis';
import { MutexKeys } from '../keys.js';
import { Lease } from '../lease.js';
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
import { runUnder } from '../using.js';
import { acquire, tryAcquire } from '../waiting/acquire.js';
import { Contender } from '../waiting/contender.js';
import { ANY_HOLDER, MutexGate } from './mutex-gate.js';

/** What `inspect` sees. */
export interface MutexState {
  /** The `holder` of the lease that holds the lock, or null. */
  readonly holder: string | null;
  /** The last fencing token that was given: the holder's, if there is one. Null if none is known. */
  readonly fencingToken: number | null;
  /** What is left of the holder's lease, ms; 0 if nobody holds the lock. */
  readonly remainingMs: number;
  /** How many wait. */
  readonly queueLength: number;
  /** Where the first of those that wait with this client stands in the queue, from 1. Null if none of them waits. */
  readonly position: number | null;
}

interface Terms extends ResolvedMutexOptions {
  readonly name: string;
  readonly gate: MutexGate;
}

/**
 * An exclusive lock with a lease, a fencing token and, unless `fair` is false, one queue for all processes.
 *
 * Not reentrant: who holds it and acquires it again waits for itself. An object is cheap, has no connection of its
 * own and needs no closing; objects with the same name and prefix are the same lock. With `minReplicas`, all those of a client
 * share one more connection (on Cluster, one for each master), which is closed after 30 s without use.
 */
export class Mutex {
  readonly name: string;
  readonly #contender: Contender;
  readonly #terms: Terms;
  /** Undefined where grants wait for no replica. */
  readonly #replicated: Replicated | undefined;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: MutexOptions = {}) {
    this.name = requireName('name', name);
    const resolved = resolveMutexOptions(options);
    const gate = new MutexGate(requireClient(redis), new MutexKeys(name, options.prefix));
    this.#contender = Contender.of(redis);
    this.#terms = { name, gate, ...resolved };
    const replication = resolveReplicationOptions(options, resolved.leaseMs);
    if (replication.minReplicas > 0) {
      this.#replicated = new Replicated(redis, this.#contender, { ...this.#terms, ...replication });
    }
  }

  /**
   * Waits for its turn and resolves with the lock. Rejects with LockTimeoutError after `waitMs`, with the reason of
   * `signal` when that is aborted, and with ERR_CLIENT_CLOSED when the client is closed meanwhile; it leaves the queue
   * then. Errors of ioredis pass through, also that of a client which was closed before. A reply that comes after the
   * end of its lease is not an acquired lock: it is given back, and the wait goes on. One round trip when the lock is
   * free; while there is contention one command for each acquisition, besides one for each process and second.
   * O(log waiters).
   *
   * With `minReplicas`, a grant is confirmed by a write and acknowledged by so many replicas first, which takes two more
   * round trips and theirs. Rejects with LockReplicationError when they don't follow in time; it is given back then.
   */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options);
    const grant = this.#replicated
      ? await this.#replicated.acquire(resolved)
      : await acquire(this.#contender, this.#terms, resolved);
    return new Lease(this.#terms, grant);
  }

  /**
   * Resolves with the lock if it is free and nobody waits for it, else with null. Errors of ioredis pass through. One
   * round trip; three when a holder died and those who wait for it have not noticed yet. With `minReplicas` as `acquire`.
   */
  async tryAcquire(): Promise<Lease | null> {
    const grant = this.#replicated
      ? await this.#replicated.tryAcquire()
      : await tryAcquire(this.#contender, this.#terms);
    return grant && new Lease(this.#terms, grant);
  }

  /**
   * Acquires the lock, runs `section` with it and releases it. The signal that the section gets is aborted when the
   * lease ends too early, and when `signal` is aborted. Rejects as `acquire` does, with what the section throws, and
   * with LeaseLostError when the lease was over before the section was: then it may not have been alone. A release
   * that fails does not hide the result: the lease ends by itself. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /** The state of the lock at one moment. It may have changed when it arrives. One round trip, O(log waiters). */
  async inspect(): Promise<MutexState> {
    const { gate } = this.#terms;
    const { fencingToken, remainingMs, rank, ...rest } = await gate.inspect(
      this.#contender.firstWaiting(gate),
    );
    return {
      ...rest,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the lock away from whoever holds it and gives it to the first waiter. Resolves to whether somebody held it.
   * The former holder is not asked, and hears of it at its next renewal: only fencing tokens protect what it does
   * until then. One round trip, O(log waiters). Repeating it takes the lock from whoever got it meanwhile.
   */
  forceRelease(): Promise<boolean> {
    return this.#terms.gate.release({ member: ANY_HOLDER, fencingToken: 0 }, true);
  }

  /**
   * Lengthens, to `leaseMs` from now, the lease of a holder that somebody else keeps, such as a client of a service that
   * takes locks for others. With the `fencingToken` of the lease it comes back when the lock's keys were lost; give it only
   * while the lease isn't over. Resolves to false when that holder does not have the lock (any more). Throws TypeError for
   * what is no `holder` of a lease. Safe to repeat. One round trip.
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
   * Releases the lock for a holder that somebody else keeps. Resolves to false when that holder does not have the lock
   * (any more): nothing changes then. Throws TypeError for what is no `holder` of a lease. Safe to repeat, when `false` may
   * also mean that the first call had been carried out. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    return gate.release({ member: requireHolder(holder), fencingToken: 0 }, isFair);
  }
}
