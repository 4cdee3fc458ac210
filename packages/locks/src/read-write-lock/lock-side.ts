import { ArgumentTypeError, requireInteger } from '@mortise/redis';
import { acquire, tryAcquire } from '../acquire/acquire.js';
import type { Grant } from '../acquire/acquisition.js';
import type { LockClient } from '../acquire/lock-client.js';
import { SingleLockRequest } from '../acquire/single-lock-request.js';
import type { Lease, LeaseTerms } from '../lease/lease.js';
import { runUnder } from '../lease/using.js';
import type { AcquireOptions } from '../options.js';
import { requireHolder, requireLeaseMs, resolveAcquireOptions } from '../options.js';
import { measured } from '../telemetry/lock-telemetry.js';
import type { ReadWriteGate, Role } from './read-write-gate.js';

/** The state of the whole lock, from `inspect` of either side. */
export interface ReadWriteLockState {
  /** The `holder` of the writer's lease, or null. */
  readonly writer: string | null;
  /** Number of readers that hold the lock. */
  readonly readers: number;
  /** The `holder`s of up to 100 readers, by the ends of their leases. */
  readonly firstReaders: readonly string[];
  /** The last fencing token of a reader or writer. Null if none is known. */
  readonly fencingToken: number | null;
  /** Time until the last lease ends, ms; 0 for a free lock. */
  readonly remainingMs: number;
  /** Number of waiting readers and writers. */
  readonly queueLength: number;
  /** Position in the queue, from 1, of this client's first reader or writer. Null if none waits. */
  readonly position: number | null;
}

export interface SideTerms extends LeaseTerms {
  readonly gate: ReadWriteGate;
  readonly isFenced: boolean;
  readonly role: Role;
}

const MAX_NAMED_READERS = 100;

/** One of the two sides of a read-write lock: `read` or `write`. */
export class LockSide<L extends Lease = Lease> {
  readonly #client: LockClient;
  readonly #terms: SideTerms;
  readonly #lease: (grant: Grant) => L;

  /** @internal Created by ReadWriteLock. */
  constructor(client: LockClient, terms: SideTerms, lease: (grant: Grant) => L) {
    this.#client = client;
    this.#terms = terms;
    this.#lease = lease;
  }

  /**
   * Waits in the queue and resolves with the lock: readers share it, a writer has it alone. Rejects with LockTimeoutError
   * after `waitMs`, with the signal's reason when it is aborted, and with ERR_CLIENT_CLOSED when the client is closed
   * during the wait; then it leaves the queue. Errors of ioredis pass through, also for a client that was already closed. A
   * reply after the end of its lease is not an acquired lock: it is given back, and the wait goes on. One round trip if
   * nobody blocks. Under contention one command for each acquisition, and one for each process and second. O(log (readers +
   * waiters)).
   */
  async acquire(options: AcquireOptions = {}): Promise<L> {
    const resolved = resolveAcquireOptions(options);
    const waiting = acquire(this.#client, (waits) => this.#request(waits), resolved);
    return this.#lease(await measured(this.#terms.telemetry, waiting));
  }

  /**
   * Resolves with the lock if nobody blocks and nobody waits, else with null. Errors of ioredis pass through. One round
   * trip; three if a holder died unnoticed by its waiters.
   */
  async tryAcquire(): Promise<L | null> {
    const grant = await measured(this.#terms.telemetry, tryAcquire(this.#request(false)));
    return grant && this.#lease(grant);
  }

  /**
   * Acquires the lock, runs `section` and releases the lock. The section's signal is aborted when the lease ends too early,
   * and when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if the lease
   * ended before the section. A failed release does not hide the result, since the lease expires. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: L) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /** The state of the lock at one instant. One round trip, O(log (readers + waiters)). */
  async inspect(): Promise<ReadWriteLockState> {
    const { gate } = this.#terms;
    const { rank, fencingToken, remainingMs, ...rest } = await gate.inspect(
      MAX_NAMED_READERS,
      this.#client.firstWaiting(gate),
    );
    return {
      ...rest,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the lock away from the holders of this side, all readers or the writer, and grants it to the next waiters.
   * Resolves to whether there was a holder. The former holders learn of it at their next renewal: until then, only fencing
   * tokens protect the resource. Two round trips, with one command for each 100 readers. A command that the client resends
   * takes the lock from nobody else: then `false` may also mean that the first one was executed.
   */
  forceRelease(): Promise<boolean> {
    return this.#terms.gate.forceRelease(this.#terms.role);
  }

  /**
   * Extends the lease of a holder to `leaseMs` from now, for a service that acquires locks for its clients. With the
   * `fencingToken` of the lease, Redis restores the lease if the keys of the lock were lost; pass it only before the end of
   * the lease. Resolves to false if that holder does not hold the lock. Throws TypeError for a value that is not the
   * `holder` of a lease of this side. Safe to repeat. One round trip.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs, fencingToken = 0): Promise<boolean> {
    requireInteger('fencingToken', fencingToken, { min: 0 });
    const member = this.#requireHolder(holder);
    const reply = await this.#terms.gate.renew({ member, fencingToken }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases the lock of a holder, for a service that acquires locks for its clients. Resolves to false if that holder does
   * not hold the lock: then nothing changes. Throws TypeError for a value that is not the `holder` of a lease of this side.
   * Safe to repeat: then `false` may also mean that the first call was executed. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return this.#terms.gate.release({ member: this.#requireHolder(holder), fencingToken: 0 });
  }

  #requireHolder(holder: string): string {
    if (requireHolder(holder).endsWith(`.${this.#terms.role}`)) return holder;
    const side = this.#terms.role === 'r' ? 'reader' : 'writer';
    throw new ArgumentTypeError(`holder must be that of a ${side}'s lease, got ${JSON.stringify(holder)}`);
  }

  #request(waits: boolean): SingleLockRequest {
    return new SingleLockRequest(this.#client, this.#terms, waits);
  }
}
