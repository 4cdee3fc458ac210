import { requireInteger } from '@mortise/redis';
import { acquire, tryAcquire } from '../acquire/acquire.js';
import type { Grant } from '../acquire/acquisition.js';
import type { Gate } from '../acquire/gate.js';
import type { LockClient } from '../acquire/lock-client.js';
import type { LockTerms } from '../acquire/single-lock-request.js';
import { SingleLockRequest } from '../acquire/single-lock-request.js';
import type { AcquireOptions, NoOptions, ResolvedAcquireOptions } from '../options.js';
import { requireHolder, requireLeaseMs, requireNoOptions, resolveAcquireOptions } from '../options.js';
import { measured } from '../telemetry/lock-telemetry.js';
import type { Lease, LeaseTerms } from './lease.js';
import { runUnder } from './using.js';

export interface SingleLockTerms extends LeaseTerms, LockTerms {
  readonly gate: Gate;
}

/** The calls of a lock of one name: a Mutex, a side of a ReadWriteLock, a Semaphore. */
export abstract class SingleLock<Terms extends SingleLockTerms, L extends Lease = Lease> {
  /** @internal */
  protected readonly client: LockClient;
  /** @internal */
  protected terms: Terms;
  readonly #lease: (terms: Terms, grant: Grant) => L;

  /** @internal */
  constructor(client: LockClient, terms: Terms, lease: (terms: Terms, grant: Grant) => L) {
    this.client = client;
    this.terms = terms;
    this.#lease = lease;
  }

  /**
   * Waits in the queue and resolves with the lock. Rejects with LockTimeoutError after `waitMs`, and with the signal's reason
   * when it is aborted. Rejects with ERR_CLIENT_CLOSED when the client is closed during the wait. After a rejection the caller
   * is no longer in the queue. Errors of ioredis pass through, also for a client that was already closed. A grant that arrives
   * after the end of its lease is given back, and the wait goes on. One round trip if the lock is free. Under contention each
   * acquisition costs one command, and each waiting process one command a second. O(log n) in the number of holders and
   * waiters.
   */
  async acquire(options: AcquireOptions = {}): Promise<L> {
    const { terms } = this;
    return this.hold(
      terms,
      await measured(terms.telemetry, this.wait(terms, resolveAcquireOptions(options))),
    );
  }

  /**
   * Resolves with the lock if it is free and nobody waits for it, else with null. Errors of ioredis pass through. One round
   * trip; three if a holder died unnoticed by its waiters.
   */
  async tryAcquire(options: NoOptions = {}): Promise<L | null> {
    requireNoOptions('tryAcquire', options);
    const { terms } = this;
    const grant = await measured(terms.telemetry, this.try(terms));
    return grant && this.hold(terms, grant);
  }

  /**
   * Acquires the lock, runs `section` and releases the lock. The section's signal is aborted when the lease ends too early, and
   * when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if the lease ended
   * before the section: then another holder may have the lock. A failed release does not hide the result, since the lease
   * expires. The call costs two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: L) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * Extends the lease of a holder to `leaseMs` from now, for a service that acquires locks for its clients. With the
   * `fencingToken` of the lease, Redis restores the lease if the keys of the lock were lost. Pass the token only before the end
   * of the lease. Resolves to false if that holder does not hold the lock. Throws TypeError for a value that is not the
   * `holder` of a lease. Safe to repeat. One round trip.
   */
  async renewFor(
    holder: string,
    leaseMs: number = this.terms.leaseMs,
    fencingToken: number = 0,
  ): Promise<boolean> {
    const member = this.requireHolder(holder);
    requireInteger('fencingToken', fencingToken, { min: 0 });
    const reply = await this.terms.gate.renew({ member, fencingToken }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases the lock of a holder, for a service that acquires locks for its clients. Resolves to false if that holder does
   * not hold the lock: then nothing changes. Throws TypeError for a value that is not the `holder` of a lease. Safe to
   * repeat: then `false` may also mean that the first call was executed. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    const { gate, isFair } = this.terms;
    return gate.release({ member: this.requireHolder(holder), fencingToken: 0 }, isFair);
  }

  /** @internal */
  protected hold(terms: Terms, grant: Grant): L {
    return this.#lease(terms, grant);
  }

  /** @internal */
  protected wait(terms: Terms, options: ResolvedAcquireOptions): Promise<Grant> {
    return acquire(this.client, (waits) => new SingleLockRequest(this.client, terms, waits), options);
  }

  /** @internal */
  protected try(terms: Terms): Promise<Grant | null> {
    return tryAcquire(new SingleLockRequest(this.client, terms, false));
  }

  /** @internal */
  protected requireHolder(holder: string): string {
    return requireHolder(holder);
  }
}
