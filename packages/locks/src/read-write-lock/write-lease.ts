import { Lease } from '../lease.js';
import type { LeaseTerms } from '../lease.js';
import type { Holder } from '../waiting/gate.js';
import type { Grant } from '../waiting/turn.js';
import type { ReadWriteGate } from './read-write-gate.js';

export interface WriteLeaseTerms extends LeaseTerms {
  readonly gate: ReadWriteGate;
}

/** A lease on a read-write lock that nobody else holds, not even a reader. */
export class WriteLease extends Lease {
  readonly #terms: WriteLeaseTerms;
  readonly #reader: string;
  /** What this lease was when it was handed over. */
  #writer: Holder | undefined;
  #downgrade: Promise<Lease> | undefined;

  /** @internal Made by ReadWriteLock. */
  constructor(terms: WriteLeaseTerms, grant: Grant) {
    super(terms, grant);
    this.#terms = terms;
    this.#reader = grant.member.replace(/w$/, 'r');
  }

  /**
   * Makes a reader of this writer: no other writer gets in between, and the readers at the head of the queue come in
   * with it. Resolves with the lease of the reader, which has a fencing token of its own and has to be released; this one
   * is over from the call on, and releasing it changes nothing. Idempotent: further calls give the same lease. Throws
   * LeaseLostError when this lease is over already. After an error of ioredis, which passes through, the call may have
   * been carried out: it is safe to repeat, and `release` gives back whichever of the two there is. Atomic, one round trip.
   */
  downgrade(): Promise<Lease> {
    return (this.#downgrade ??= this.#handOver());
  }

  override release(): Promise<boolean> {
    return this.#writer ? this.#releaseEither() : super.release();
  }

  async #handOver(): Promise<Lease> {
    const { gate, leaseMs } = this.#terms;
    this.#writer ??= this.handOver();
    if (performance.now() >= this.expiresAt) throw this.lose('expired');
    const { fencingToken, sentAt } = await gate
      .downgrade(this.#writer, this.#reader, leaseMs)
      .catch((error: unknown) => {
        this.#downgrade = undefined;
        throw error;
      });
    if (fencingToken === 0) throw this.lose('taken');
    const grant = { member: this.#reader, fencingToken, startsAt: sentAt, termMs: leaseMs };
    const lease = new Lease(this.#terms, grant);
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
