/**
 * A held lock. This process knows the end of the lease without the server: an instant on the monotonic clock, counted from
 * before the command was sent. So a holder that cannot reach the server, or whose event loop was blocked, learns of the end
 * no later than Redis.
 */
import { ignorable, LeaseLostError } from '@mortise/redis';
import type { LeaseEnd } from '@mortise/redis';
import type { Grant } from '../acquire/acquisition.js';
import type { Gate, Holder } from '../acquire/gate.js';
import * as liveMembers from '../acquire/live-members.js';
import type { NoOptions } from '../options.js';
import { requireNoOptions } from '../options.js';
import { SharedTimer } from '../shared-timer.js';
import type { LockTelemetry } from '../telemetry/lock-telemetry.js';

export interface LeaseTerms {
  readonly name: string;
  readonly gate: Pick<Gate, 'release' | 'renew'>;
  readonly leaseMs: number;
  readonly isFair: boolean;
  /** Maximum time for which background renewals keep the lease. */
  readonly renewForMs: number;
  readonly telemetry: LockTelemetry | undefined;
}

/** Renews all leases of the process. */
const watchdog = /* @__PURE__ */ new SharedTimer(50);

/** A failed renewal is repeated after this part of the lease, so six more attempts fit before the end. */
const RETRY_PART = 0.1;

/**
 * A held lock, or held permits, until `release` or `expiresAt`. The process renews the lease after each third of its time,
 * unless the lock was made with `renew: false`. Renewals that are due together share one command (on Cluster, those of one
 * slot). `await using` releases the lease.
 */
export class Lease implements AsyncDisposable {
  /**
   * Greater than every earlier token of this lock. Let the protected resource refuse smaller ones (M. Kleppmann, How to do
   * distributed locking, 2016). A lock without fencing gives 0, which the resource should refuse.
   */
  readonly fencingToken: number;
  /** The id of this lease. `inspect` shows it as the holder. */
  readonly holder: string;
  readonly #terms: LeaseTerms;
  readonly #grantedAt: number;
  readonly #renewUntil: number;
  readonly #onRenewalDue = (): void => void this.#renewInBackground();
  #endsAt: number;
  #lostBy: LeaseLostError | undefined;
  /** The error of the last renewal, if it failed. */
  #failure: unknown;
  #isReleased = false;
  #isOver = false;
  #release: Promise<boolean> | undefined;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @internal Created by the locks. */
  constructor(terms: LeaseTerms, { member, fencingToken, startsAt, termMs }: Grant) {
    this.#terms = terms;
    this.holder = member;
    this.fencingToken = fencingToken;
    this.#grantedAt = startsAt;
    this.#renewUntil = startsAt + terms.renewForMs;
    this.#endsAt = startsAt + termMs;
    // The watchdog references leases without an end, so they are never collected.
    if (terms.renewForMs === Infinity) liveMembers.add(member);
    else liveMembers.addFor(this, member);
    this.#planRenewal(startsAt, termMs);
  }

  /** Whether the lock is certainly held. The answer compares clocks, so it is correct even after the event loop was blocked. */
  get isValid(): boolean {
    return !this.#isReleased && !this.#lostBy && performance.now() < this.#endsAt;
  }

  /** When the lease ends unless renewed, by `performance.now()`. */
  get expiresAt(): number {
    return this.#endsAt;
  }

  /**
   * Aborted when the lease ends before its release. A timer of this process aborts it, even if the server cannot be reached.
   * The reason is a LeaseLostError.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#lostBy) this.#controller.abort(this.#lostBy);
      else if (this.isValid) this.#watchEnd();
    }
    // After a blocked event loop the timer is late, but the clock is not.
    if (!this.isValid && !this.#isReleased) this.#lose('expired');
    return this.#controller.signal;
  }

  /**
   * Extends the lease to `leaseMs` from now, even if the process renews it in the background. Throws LeaseLostError if the
   * lease has ended. Errors of ioredis pass through, and the lease then lasts until `expiresAt`. The call takes no options:
   * `leaseMs` is that of the lock. One round trip.
   */
  async renew(options: NoOptions = {}): Promise<void> {
    requireNoOptions('renew', options);
    if (this.#isReleased) throw this.#error('released');
    if (!this.isValid) throw this.#lose('expired');
    await this.#renewFor(this.#terms.leaseMs);
  }

  /**
   * Grants the lock to the first waiter, or frees it. Resolves to false if the lease was lost before: then nothing changes.
   * Idempotent: further calls return the first result. One round trip, O(log waiters). Safe to repeat after an error of
   * ioredis: then `false` may also mean that the first call was executed. An unhandled rejection does not end the process.
   */
  release(): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    const holder = this.#identity();
    this.#isReleased = true;
    this.#end();
    this.#release ??= ignorable(
      gate.release(holder, isFair).catch((error: unknown) => {
        this.#release = undefined;
        throw error;
      }),
    );
    return this.#release;
  }

  /** Releases the lock. A failed release does not hide the result of the block, since the lease expires. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      // The lease expires.
    }
  }

  /** Ends this object but not the lease, which continues as another object. Throws LeaseLostError if it has ended. */
  protected detach(): Holder {
    if (this.#isReleased) throw this.#error('released');
    if (!this.isValid) throw this.#lose('expired');
    const holder = this.#identity();
    this.#isReleased = true;
    this.#end();
    return holder;
  }

  /** Marks the lease as lost. */
  protected lose(reason: LeaseEnd): LeaseLostError {
    return this.#lose(reason);
  }

  /** A lease that has ended locally must not come back in Redis, which restores none without a token. */
  #identity(): Holder {
    return { member: this.holder, fencingToken: this.isValid ? this.fencingToken : 0 };
  }

  #planRenewal(startsAt: number, termMs: number): void {
    if (this.#renewUntil - this.#endsAt < 1) {
      watchdog.delete(this.#onRenewalDue);
      return;
    }
    // The short lease of a new grant is confirmed at its half, since many holders release before that.
    const part = termMs < this.#terms.leaseMs ? 1 / 2 : 1 / 3;
    watchdog.set(this.#onRenewalDue, startsAt + termMs * part);
  }

  async #renewInBackground(): Promise<void> {
    const { leaseMs } = this.#terms;
    try {
      if (!this.isValid) throw this.#lose('expired');
      const termMs = Math.floor(Math.min(leaseMs, this.#renewUntil - performance.now()));
      await this.#renewFor(termMs, this.#renewUntil);
    } catch (error) {
      if (this.#isReleased || this.#lostBy) return;
      this.#failure = error;
      watchdog.set(this.#onRenewalDue, performance.now() + leaseMs * RETRY_PART);
    }
  }

  /** @param notBeyond The lease ends by then, even if the client delayed the request. */
  async #renewFor(termMs: number, notBeyond = Infinity): Promise<void> {
    const { isHeld, sentAt } = await this.#terms.gate.renew(this.#identity(), termMs);
    if (this.#isReleased) throw this.#error('released');
    // The signal is already aborted, so a reply after the end cannot undo it.
    if (!this.isValid) throw this.#lose('expired');
    if (!isHeld) throw this.#lose('taken');
    this.#failure = undefined;
    this.#endsAt = Math.max(this.#endsAt, Math.min(sentAt + termMs, notBeyond));
    this.#planRenewal(sentAt, termMs);
  }

  /** Idempotent. */
  #end(): void {
    watchdog.delete(this.#onRenewalDue);
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#terms.telemetry?.held(this.#grantedAt, this.#lostBy?.reason);
    if (this.#terms.renewForMs === Infinity) liveMembers.remove(this.holder);
    else liveMembers.removeFor(this, this.holder);
  }

  #watchEnd(): void {
    const left = this.#endsAt - performance.now();
    if (left <= 0) this.#lose('expired');
    else this.#timer = setTimeout(() => this.#watchEnd(), Math.ceil(left)).unref();
  }

  #lose(reason: LeaseEnd): LeaseLostError {
    if (!this.#lostBy) {
      this.#lostBy = this.#error(reason);
      this.#end();
      this.#controller?.abort(this.#lostBy);
    }
    return this.#lostBy;
  }

  #error(reason: LeaseEnd): LeaseLostError {
    const cause = this.#failure;
    return new LeaseLostError(`lock ${JSON.stringify(this.#terms.name)}`, reason, {
      fencingToken: this.fencingToken,
      ...(cause !== undefined && { cause }),
    });
  }
}
