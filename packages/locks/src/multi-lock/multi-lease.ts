import { Lease } from '../lease.js';
import type { MultiGrant, MultiTerms } from './multi-turn.js';

/** Several locks that are held together, as one lease: it is over when the lease of any of them is. */
export class MultiLease implements AsyncDisposable {
  /**
   * The fencing token of each name, greater than every token that this lock ever gave before. Let the resource that a
   * name protects refuse smaller ones. 0 without fencing.
   */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** The id of this lease, which `inspect` shows as the holder of each lock. */
  readonly holder: string;
  readonly #lease: Lease;

  /** @internal Made by MultiLock. */
  constructor({ gate, ...terms }: MultiTerms, { tokens, ...grant }: MultiGrant) {
    const known = gate.parts.map(({ name }, index) => [name, terms.isFenced ? tokens[index]! : 0] as const);
    this.fencingTokens = new Map(known);
    this.holder = grant.member;
    // A lease that is over in its holder's eyes has no token: then none of its locks may come back in Redis.
    const parts = {
      release: ({ member, fencingToken }: { member: string; fencingToken: number }, isFair: boolean) =>
        gate.release({ member, tokens: fencingToken > 0 ? tokens : undefined }, isFair),
      renew: ({ member, fencingToken }: { member: string; fencingToken: number }, leaseMs: number) =>
        gate.renew({ member, tokens: fencingToken > 0 ? tokens : undefined }, leaseMs),
    };
    this.#lease = new Lease({ ...terms, gate: parts }, grant);
  }

  /** Whether all locks are held for certain, by a look at the clock: right even after the event loop was blocked. */
  get isValid(): boolean {
    return this.#lease.isValid;
  }

  /** When the first of the leases ends unless it is renewed: an instant on the clock of `performance.now()`. */
  get expiresAt(): number {
    return this.#lease.expiresAt;
  }

  /**
   * Aborted when any of the locks is lost without having been released, by a timer of this process, whether the server
   * can be reached or not. The reason is a LeaseLostError. The others stay held until `release` or the end of their
   * leases.
   */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /**
   * Lengthens all leases to `leaseMs` from now. Throws LeaseLostError when one of them is over; errors of ioredis
   * pass through, and the lease then lasts until `expiresAt`. One command; on Cluster one for each slot.
   */
  renew(): Promise<void> {
    return this.#lease.renew();
  }

  /**
   * Gives each lock to its first waiter, or frees it, the last one first. Resolves to whether all were held: those
   * that were not do not change. Idempotent. One command; on Cluster one for each slot, all at once. Safe to repeat after
   * an error of ioredis, when `false` may also mean that the first call had been carried out.
   */
  release(): Promise<boolean> {
    return this.#lease.release();
  }

  /** Releases all locks. A release that fails does not hide the result of the block: the leases end by themselves. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#lease[Symbol.asyncDispose]();
  }
}
