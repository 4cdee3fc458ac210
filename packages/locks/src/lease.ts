/**
 * A lock that is held. Its end is known here, without the server: an instant on the monotonic clock, counted from
 * before the command was sent. So a holder that cannot reach the server, or whose event loop was blocked, knows
 * no later than Redis that it may not be alone any more.
 */
import { LeaseLostError } from './errors.js';
import type { LeaseEnd } from './errors.js';
import { drop, dropFor, keep, keepFor } from './waiting/alive.js';
import type { Gate, Holder } from './waiting/gate.js';
import { Timetable } from './waiting/timetable.js';
import type { Grant } from './waiting/turn.js';

export interface LeaseTerms {
  readonly name: string;
  readonly gate: Pick<Gate, 'release' | 'renew'>;
  readonly leaseMs: number;
  readonly isFair: boolean;
  /** How long background renewals keep the lease. */
  readonly keepMs: number;
}

/** The watchdog of the process: all leases that have to be renewed, and one timer. */
const watchdog = new Timetable(50);

/** A renewal that failed is repeated after this part of the lease: six more fit before the end. */
const RETRY_PART = 0.1;

/**
 * A lock, or permits, that are held from now until `release`, or until the end that `expiresAt` tells. Renewed in the
 * background at a third of each lease, unless its lock was made with `renew: false`; leases of a Cluster slot that are
 * due together share one command. `await using` releases it.
 */
export class Lease implements AsyncDisposable {
  /**
   * Greater than every token that this lock ever gave before. Let the protected resource refuse smaller ones (M. Kleppmann,
   * How to do distributed locking, 2016). 0 for a lock without fencing, which such a resource refuses.
   */
  readonly fencingToken: number;
  /** The id of this lease, which `inspect` shows as the holder. */
  readonly holder: string;
  readonly #terms: LeaseTerms;
  readonly #keepUntil: number;
  readonly #tend = (): void => void this.#renewInBackground();
  #endsAt: number;
  #lostBy: LeaseLostError | undefined;
  #failure: unknown;
  #isReleased = false;
  #isResting = false;
  #release: Promise<boolean> | undefined;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @internal Made by the locks. */
  constructor(terms: LeaseTerms, { member, fencingToken, startsAt, termMs }: Grant) {
    this.#terms = terms;
    this.holder = member;
    this.fencingToken = fencingToken;
    this.#keepUntil = startsAt + terms.keepMs;
    this.#endsAt = startsAt + termMs;
    // The watchdog holds on to those that it keeps for ever.
    if (terms.keepMs === Infinity) keep(member);
    else keepFor(this, member);
    this.#planRenewal(startsAt, termMs);
  }

  /** Whether the lock is held for certain, by a look at the clock: right even after the event loop was blocked. */
  get isValid(): boolean {
    return !this.#isReleased && !this.#lostBy && performance.now() < this.#endsAt;
  }

  /** When the lease ends unless it is renewed: an instant on the clock of `performance.now()`. */
  get expiresAt(): number {
    return this.#endsAt;
  }

  /**
   * Aborted when the lease ends without having been released, by a timer of this process, whether the server can be
   * reached or not. The reason is a LeaseLostError.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#lostBy) this.#controller.abort(this.#lostBy);
      else if (this.isValid) this.#watchEnd();
    }
    // The timer is late after the event loop was blocked; the clock is not.
    if (!this.isValid && !this.#isReleased) this.#lose('expired');
    return this.#controller.signal;
  }

  /**
   * Lengthens the lease to `leaseMs` from now, whether it is renewed in the background or not. Throws LeaseLostError
   * when it is over; errors of ioredis pass through, and the lease then lasts until `expiresAt`. One round trip.
   */
  async renew(): Promise<void> {
    if (this.#isReleased) throw this.#error('released');
    if (!this.isValid) throw this.#lose('expired');
    await this.#renewFor(this.#terms.leaseMs);
  }

  /**
   * Gives the lock to the first waiter, or frees it. Resolves to false when the lease was lost before: nothing
   * changes then. Idempotent: further calls give the result of the first. One round trip, O(log waiters); safe to
   * repeat after an error of ioredis, when `false` may also mean that the first call had been carried out.
   */
  release(): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    const holder = this.#identity();
    this.#isReleased = true;
    this.#rest();
    this.#release ??= gate.release(holder, isFair).catch((error: unknown) => {
      this.#release = undefined;
      throw error;
    });
    return this.#release;
  }

  /** Releases the lock. A release that fails does not hide the result of the block: the lease ends by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      // See above.
    }
  }

  /** Ends the lease here and nowhere else: what it holds goes on as another lease. Throws LeaseLostError when it is over. */
  protected handOver(): Holder {
    if (this.#isReleased) throw this.#error('released');
    if (!this.isValid) throw this.#lose('expired');
    const holder = this.#identity();
    this.#isReleased = true;
    this.#rest();
    return holder;
  }

  /** Says that the lease is over although nobody released it. */
  protected lose(reason: LeaseEnd): LeaseLostError {
    return this.#lose(reason);
  }

  /** A lease that is over here must not come back in Redis: without its token it cannot. */
  #identity(): Holder {
    return { member: this.holder, fencingToken: this.isValid ? this.fencingToken : 0 };
  }

  #planRenewal(startsAt: number, termMs: number): void {
    if (this.#keepUntil - this.#endsAt < 1) {
      watchdog.delete(this.#tend);
      return;
    }
    // A claim is short, to be confirmed early; it may as well be over before that.
    const part = termMs < this.#terms.leaseMs ? 1 / 2 : 1 / 3;
    watchdog.set(this.#tend, startsAt + termMs * part);
  }

  async #renewInBackground(): Promise<void> {
    const { leaseMs } = this.#terms;
    try {
      if (!this.isValid) throw this.#lose('expired');
      const termMs = Math.floor(Math.min(leaseMs, this.#keepUntil - performance.now()));
      await this.#renewFor(termMs, this.#keepUntil);
    } catch (error) {
      if (this.#isReleased || this.#lostBy) return;
      this.#failure = error;
      watchdog.set(this.#tend, performance.now() + leaseMs * RETRY_PART);
    }
  }

  /** @param notBeyond The lease ends by then, however long the request lay here before it was sent. */
  async #renewFor(termMs: number, notBeyond = Infinity): Promise<void> {
    const { isHeld, sentAt } = await this.#terms.gate.renew(this.#identity(), termMs);
    if (this.#isReleased) throw this.#error('released');
    // An answer that comes after the end cannot undo it: the signal has been given.
    if (!this.isValid) throw this.#lose('expired');
    if (!isHeld) throw this.#lose('taken');
    this.#failure = undefined;
    this.#endsAt = Math.max(this.#endsAt, Math.min(sentAt + termMs, notBeyond));
    this.#planRenewal(sentAt, termMs);
  }

  /** Nothing is left to be done for it. Idempotent. */
  #rest(): void {
    watchdog.delete(this.#tend);
    clearTimeout(this.#timer);
    if (this.#isResting) return;
    this.#isResting = true;
    if (this.#terms.keepMs === Infinity) drop(this.holder);
    else dropFor(this, this.holder);
  }

  #watchEnd(): void {
    const left = this.#endsAt - performance.now();
    if (left <= 0) this.#lose('expired');
    else this.#timer = setTimeout(() => this.#watchEnd(), Math.ceil(left)).unref();
  }

  #lose(reason: LeaseEnd): LeaseLostError {
    if (!this.#lostBy) {
      this.#lostBy = this.#error(reason);
      this.#rest();
      this.#controller?.abort(this.#lostBy);
    }
    return this.#lostBy;
  }

  #error(reason: LeaseEnd): LeaseLostError {
    const cause = this.#failure;
    return new LeaseLostError(
      this.#terms.name,
      this.fencingToken,
      reason,
      cause === undefined ? undefined : { cause },
    );
  }
}
