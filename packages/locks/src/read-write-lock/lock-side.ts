import { requireInteger } from '@mortise/redis';
import type { Lease, LeaseTerms } from '../lease.js';
import type { AcquireOptions } from '../options.js';
import { requireHolder, requireLeaseMs, resolveAcquireOptions } from '../options.js';
import { runUnder } from '../using.js';
import { acquire, tryAcquire } from '../waiting/acquire.js';
import type { Contender } from '../waiting/contender.js';
import type { Grant } from '../waiting/turn.js';
import type { ReadWriteGate, Role } from './read-write-gate.js';

/** What `inspect` sees, whichever side is asked. */
export interface ReadWriteLockState {
  /** The `holder` of the lease of the writer that holds the lock, or null. */
  readonly writer: string | null;
  /** How many readers hold the lock. */
  readonly readers: number;
  /** The `holder`s of the leases of readers, those that end first first: 100 at most. */
  readonly firstReaders: readonly string[];
  /** The last fencing token that was given, to a reader or a writer. Null if none is known. */
  readonly fencingToken: number | null;
  /** The time until the last of the leases ends, ms; 0 if nobody holds the lock. */
  readonly remainingMs: number;
  /** How many wait, readers and writers. */
  readonly queueLength: number;
  /** Where the first of those that wait with this client, to read or to write, stands in the queue, from 1; null if none. */
  readonly position: number | null;
}

export interface SideTerms extends LeaseTerms {
  readonly gate: ReadWriteGate;
  readonly isFenced: boolean;
  readonly role: Role;
}

const MAX_NAMED_READERS = 100;

/** One of the two ways to hold a read-write lock: `read`, or `write`. */
export class LockSide<L extends Lease = Lease> {
  readonly #contender: Contender;
  readonly #terms: SideTerms;
  readonly #lease: (grant: Grant) => L;

  /** @internal Made by ReadWriteLock. */
  constructor(contender: Contender, terms: SideTerms, lease: (grant: Grant) => L) {
    this.#contender = contender;
    this.#terms = terms;
    this.#lease = lease;
  }

  /**
   * Waits for its turn and resolves with the lock: readers beside other readers, a writer alone. Rejects with
   * LockTimeoutError after `waitMs`, with the reason of `signal` when that is aborted, and with ERR_CLIENT_CLOSED when
   * the client is closed meanwhile; it leaves the queue then. Errors of ioredis pass through, also that of a client which
   * was closed before. A reply that comes after the end of its lease is not an acquired lock: it is given back, and the
   * wait goes on. One round trip when nobody is in the way; while there is contention one command for each acquisition,
   * besides one for each process and second. O(log (readers + waiters)).
   */
  async acquire(options: AcquireOptions = {}): Promise<L> {
    return this.#lease(await acquire(this.#contender, this.#terms, resolveAcquireOptions(options)));
  }

  /**
   * Resolves with the lock if it can be had at once, ahead of nobody who waits, else with null. Errors of ioredis pass
   * through. One round trip; three when a holder died and those who wait for it have not noticed yet.
   */
  async tryAcquire(): Promise<L | null> {
    const grant = await tryAcquire(this.#contender, this.#terms);
    return grant && this.#lease(grant);
  }

  /**
   * Acquires the lock, runs `section` and releases the lock, whatever the section does. Resolves with the section's
   * result. The signal of the section is aborted when the lease is lost or the given `signal` is aborted; rejects with
   * LeaseLostError if the lease was lost by the time the section ended. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: L) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /** Who holds the lock and who waits for it. One round trip; O(log (readers + waiters)). */
  async inspect(): Promise<ReadWriteLockState> {
    const { gate } = this.#terms;
    const { rank, fencingToken, remainingMs, ...rest } = await gate.inspect(
      MAX_NAMED_READERS,
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
   * Takes the lock away from those who hold it on this side, from all readers or from the writer, and lets in who is next.
   * Resolves to whether anybody held it. The former holders are not asked, and hear of it at their next renewal: only
   * fencing tokens protect what they do until then. One round trip.
   */
  forceRelease(): Promise<boolean> {
    return this.#terms.gate.release({ member: `*.${this.#terms.role}`, fencingToken: 0 });
  }

  /**
   * Lengthens, to `leaseMs` from now, the lease of a holder that somebody else keeps, such as a client of a service that
   * takes locks for others. With the `fencingToken` of the lease it comes back when the lock's keys were lost; give it only
   * while the lease isn't over. Resolves to false when that holder does not have the lock (any more). Throws TypeError for
   * what is no `holder` of a lease of this side. Safe to repeat. One round trip.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs, fencingToken = 0): Promise<boolean> {
    requireInteger('fencingToken', fencingToken, { min: 0 });
    const member = this.#requireHolder(holder);
    const reply = await this.#terms.gate.renew({ member, fencingToken }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases the lock for a holder that somebody else keeps. Resolves to false when that holder does not have the lock
   * (any more): nothing changes then. Throws TypeError for what is no `holder` of a lease of this side. Safe to repeat, when
   * `false` may also mean that the first call had been carried out. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return this.#terms.gate.release({ member: this.#requireHolder(holder), fencingToken: 0 });
  }

  #requireHolder(holder: string): string {
    if (requireHolder(holder).endsWith(`.${this.#terms.role}`)) return holder;
    const side = this.#terms.role === 'r' ? 'reader' : 'writer';
    throw new TypeError(`holder must be that of a ${side}'s lease, got ${JSON.stringify(holder)}`);
  }
}
