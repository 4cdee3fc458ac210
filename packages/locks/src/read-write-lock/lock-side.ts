import { ArgumentTypeError, shownValue } from '@mortise/redis';
import type { Lease } from '../lease/lease.js';
import type { SingleLockTerms } from '../lease/single-lock.js';
import { SingleLock } from '../lease/single-lock.js';
import type { ReadWriteGate, Role } from './read-write-gate.js';

/** The state of the whole lock, from `inspect` of either side. */
export interface ReadWriteLockState {
  /** The `holder` of the writer's lease, or null. */
  readonly writer: string | null;
  /** Number of readers that hold the lock. */
  readonly readers: number;
  /** The `holder` of up to 100 readers, ordered by the ends of their leases. */
  readonly firstReaders: readonly string[];
  /** The last fencing token of a reader or writer. Null if none is known. */
  readonly fencingToken: number | null;
  /** Time until the last lease ends, ms; 0 for a free lock. */
  readonly remainingMs: number;
  /** Number of waiting readers and writers. */
  readonly queueLength: number;
  /** For how long the first reader or writer has waited, in whole ms; 0 without waiters. */
  readonly longestWaitMs: number;
  /**
   * Position in the queue, from 1, of this client's first reader or writer. Null without a waiter, and until the reply to a
   * waiter has arrived.
   */
  readonly position: number | null;
}

export interface SideTerms extends SingleLockTerms {
  readonly gate: ReadWriteGate;
  readonly role: Role;
}

const MAX_NAMED_READERS = 100;

/**
 * One of the two sides of a read-write lock: `read` or `write`. Readers share the lock, a writer has it alone. The lock is free
 * for readers while no writer holds it, and for a writer while nobody holds it.
 */
export class LockSide<L extends Lease = Lease> extends SingleLock<SideTerms, L> {
  /** The state of the lock at one instant. One round trip, O(log (readers + waiters)). */
  async inspect(): Promise<ReadWriteLockState> {
    const { gate } = this.terms;
    const { rank, fencingToken, remainingMs, ...rest } = await gate.inspect(
      MAX_NAMED_READERS,
      this.client.firstWaiting(gate),
    );
    return {
      ...rest,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the lock away from the holders of this side, all readers or the writer, and grants it to the next waiters. Resolves
   * to whether there was a holder. The former holders learn of the loss at their next renewal. Until then, only fencing tokens
   * protect the resource. If the client resends the command, no later holder loses the lock; then `false` may also mean that
   * the first command was executed. Two round trips, with one command for each 100 readers.
   */
  forceRelease(): Promise<boolean> {
    return this.terms.gate.forceRelease(this.terms.role);
  }

  protected override requireHolder(holder: string): string {
    if (super.requireHolder(holder).endsWith(`.${this.terms.role}`)) return holder;
    const side = this.terms.role === 'r' ? 'reader' : 'writer';
    throw new ArgumentTypeError(`holder must be that of a ${side}'s lease, got ${shownValue(holder)}`);
  }
}
