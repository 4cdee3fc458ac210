import type { Holder } from '../acquire/gate.js';
import { Lease } from '../lease/lease.js';
import type { NoOptions } from '../options.js';
import type { MultiHolder } from './multi-gate.js';
import type { MultiLockGrant, MultiLockTerms } from './multi-lock-request.js';

/** Several locks held together as one lease. The lease ends when one of the locks is lost. */
export class MultiLease implements AsyncDisposable {
  /**
   * The fencing token of each name, greater than every earlier token of its lock. Let the resource that the name protects
   * refuse smaller tokens. The tokens are 0 without fencing.
   */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** The id of this lease. `inspect` shows it as the holder of each lock. */
  readonly holder: string;
  readonly #lease: Lease;

  /** @internal Created by MultiLock. */
  constructor({ gate, ...terms }: MultiLockTerms, { tokens, ...grant }: MultiLockGrant) {
    const known = gate.locks.map(({ name }, index) => [name, terms.isFenced ? tokens[index]! : 0] as const);
    this.fencingTokens = new Map(known);
    this.holder = grant.member;
    // A lease that has ended locally has no token, so that Redis restores none of its locks.
    const holderOf = ({ member, fencingToken }: Holder): MultiHolder => ({
      member,
      tokens: fencingToken > 0 ? tokens : undefined,
    });
    const all = {
      release: (holder: Holder, isFair: boolean) => gate.release(holderOf(holder), isFair),
      renew: (holder: Holder, leaseMs: number) => gate.renew(holderOf(holder), leaseMs),
    };
    this.#lease = new Lease({ ...terms, gate: all }, grant);
  }

  /**
   * Whether all locks are certainly held. The answer compares clocks, so it is correct even after the event loop was blocked.
   */
  get isValid(): boolean {
    return this.#lease.isValid;
  }

  /** When the first lease ends unless renewed, by `performance.now()`. */
  get expiresAt(): number {
    return this.#lease.expiresAt;
  }

  /**
   * Aborted when one of the locks is lost before its release. A timer of this process aborts it, even if the server cannot be
   * reached. The reason is a LeaseLostError. The other locks stay held until `release` or the end of their leases.
   */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /**
   * Extends all leases to `leaseMs` from now. Throws LeaseLostError if one of them has ended. Errors of ioredis pass
   * through, and the lease then lasts until `expiresAt`. One command; on Cluster one for each slot.
   */
  renew(options: NoOptions = {}): Promise<void> {
    return this.#lease.renew(options);
  }

  /**
   * Releases all locks, the last one first: each is granted to its first waiter, or becomes free. Resolves to whether all
   * were held; a lock that was not held does not change. Idempotent. One command; on Cluster one for each slot, in
   * parallel. Safe to repeat after an error of ioredis: then `false` may also mean that the first call was executed.
   */
  release(): Promise<boolean> {
    return this.#lease.release();
  }

  /** Releases all locks. A failed release does not hide the result of the block, since the leases expire. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#lease[Symbol.asyncDispose]();
  }
}
