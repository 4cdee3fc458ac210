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
  /** The `holder`s of up to 100 readers, by the ends of their leases. */
  readonly firstReaders: readonly string[];
  /** The last fencing token of a reader or writer. Null if none is known. */
  readonly fencingToken: number | null;
  /** Time until the last lease ends, ms; 0 for a free lock. */
  readonly remainingMs: number;
  /** Number of waiting readers and writers. */
  readonly queueLength: number;
  /** For how long the first of them has waited, in whole ms; 0 without waiters. */
  readonly longestWaitMs: number;
  /** Position in the queue, from 1, of this client's first reader or writer. Null if none is known to wait: a reply may be under way. */
  readonly position: number | null;
}

export interface SideTerms extends SingleLockTerms {
  readonly gate: ReadWriteGate;
  readonly role: Role;
}

const MAX_NAMED_READERS = 100;

/**
 * One of the two sides of a read-write lock: `read` or `write`. Readers share the lock, a writer has it alone. The lock is
 * free for a side while no holder is in its way.
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
   * Takes the lock away from the holders of this side, all readers or the writer, and grants it to the next waiters.
   * Resolves to whether there was a holder. The former holders learn of it at their next renewal: until then, only fencing
   * tokens protect the resource. Two round trips, with one command for each 100 readers. A command that the client resends
   * takes the lock from nobody else: then `false` may also mean that the first one was executed.
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
