import type { Grant } from '../acquire/acquisition.js';
import type { Holder } from '../acquire/gate.js';
import { Lease } from '../lease/lease.js';
import type { LeaseTerms } from '../lease/lease.js';
import type { ReadWriteGate } from './read-write-gate.js';

interface WriteLeaseTerms extends LeaseTerms {
  readonly gate: ReadWriteGate;
}

/** A lease of a writer: nobody else holds the read-write lock, not even a reader. */
export class WriteLease extends Lease {
  readonly #terms: WriteLeaseTerms;
  readonly #readerTerms: LeaseTerms;
  /** The member of the reader after `downgrade`. */
  readonly #reader: string;
  /** This writer, after `downgrade` was called. */
  #writer: Holder | undefined;
  #downgrade: Promise<Lease> | undefined;

  /** @internal Created by ReadWriteLock. */
  constructor(terms: WriteLeaseTerms, readerTerms: LeaseTerms, grant: Grant) {
    super(terms, grant);
    this.#terms = terms;
    this.#readerTerms = readerTerms;
    this.#reader = grant.member.replace(/w$/, 'r');
  }

  /**
   * Turns this writer into a reader. No other writer gets the lock in between, and the readers at the head of the queue share
   * it at once. Resolves with the lease of the reader, which has its own fencing token and `release`. This lease ends with the
   * call; releasing it then changes nothing. Idempotent: further calls return the same lease. Throws LeaseLostError if this
   * lease had ended before. An error of ioredis passes through, and the call may have been executed. The call is safe to
   * repeat. After such an error, `release` releases the writer or the reader. Atomic, one round trip.
   */
  downgrade(): Promise<Lease> {
    return (this.#downgrade ??= this.#becomeReader());
  }

  override release(): Promise<boolean> {
    return this.#writer ? this.#releaseEither() : super.release();
  }

  async #becomeReader(): Promise<Lease> {
    const { gate, leaseMs } = this.#terms;
    this.#writer ??= this.detach();
    if (performance.now() >= this.expiresAt) throw this.lose('expired');
    const { fencingToken, sentAt } = await gate
      .downgrade(this.#writer, this.#reader, leaseMs)
      .catch((error: unknown) => {
        this.#downgrade = undefined;
        throw error;
      });
    if (fencingToken === 0) throw this.lose('taken');
    const grant = { member: this.#reader, fencingToken, startsAt: sentAt, termMs: leaseMs };
    const lease = new Lease(this.#readerTerms, grant);
    if (lease.isValid) return lease;
    await lease.release();
    throw this.lose('expired');
  }

  async #releaseEither(): Promise<boolean> {
    const reader = await this.#downgrade?.catch(() => undefined);
    if (reader) return false;
    const released = [super.release(), this.#terms.gate.release({ member: this.#reader, fencingToken: 0 })];
    return (await Promise.all(released)).includes(true);
  }
}
