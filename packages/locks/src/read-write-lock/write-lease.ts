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
  /** The member that `downgrade` makes of this writer. */
  readonly #reader: string;
  /** This writer, once `downgrade` was called. */
  #writer: Holder | undefined;
  #downgrade: Promise<Lease> | undefined;

  /** @internal Made by ReadWriteLock. */
  constructor(terms: WriteLeaseTerms, readerTerms: LeaseTerms, grant: Grant) {
    super(terms, grant);
    this.#terms = terms;
    this.#readerTerms = readerTerms;
    this.#reader = grant.member.replace(/w$/, 'r');
  }

  /**
   * Makes a reader of this writer: no other writer gets in between, and the readers at the head of the queue come in
   * with it. Resolves with the lease of the reader, which has its own fencing token and its own `release`. This lease has
   * ended from the call on; releasing it changes nothing. Idempotent: further calls give the same lease. Throws
   * LeaseLostError when this lease had ended before. After an error of ioredis, which passes through, the call may have
   * been carried out: it is safe to repeat, and `release` then releases writer or reader. Atomic, one round trip.
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
