/** What a lock of any kind does in Redis. Waiting, leases and the watchdog know no more of it than this. */

/** `wait` queues, `try` does not. `barge` and `grab` do the same, but take a free lock past those who queue. */
export type AcquireMode = 'wait' | 'try' | 'barge' | 'grab';

export interface AcquireRequest {
  readonly member: string;
  readonly leaseMs: number;
  readonly mode: AcquireMode;
  /** Whether a fencing token is wanted, where that costs something. */
  readonly isFenced: boolean;
}

/** A moment that both clocks know: the server's clock showed `serverUs` at `sentAt` or later. */
export interface Moment {
  /** On the clock of `performance.now()`. */
  readonly sentAt: number;
  readonly serverUs: number;
}

export interface AcquireReply extends Moment {
  readonly outcome: 'held' | 'queued' | 'refused';
  /** The fencing token of a holder, the place of a waiter. */
  readonly value: number;
  /** When the lock may be given up by whoever holds it at the latest, if the outcome is not `held`; negative: it is free. */
  readonly remainingMs: number;
}

/** One that holds the lock, or may. */
export interface Holder {
  readonly member: string;
  /** 0 for a lease without one, and for one that is over in its holder's eyes: nothing is restored then. */
  readonly fencingToken: number;
}

export interface RenewReply {
  readonly isHeld: boolean;
  readonly sentAt: number;
}

/** One that waits, with what a re-check needs to put it back where it was. */
export interface Waiting {
  readonly member: string;
  /** The score in the queue. */
  readonly place: number;
}

export interface RecheckReply extends Moment {
  readonly remainingMs: number;
  /** How many waiters had to be put back into the queue. */
  readonly missing: number;
  /** Those of the waiters that hold the lock: their index, and their fencing token. */
  readonly grants: readonly { readonly index: number; readonly fencingToken: number }[];
  /** Those that can never be granted what they wait for: their index, and what `refusal` makes an error of. */
  readonly refusals?: readonly { readonly index: number; readonly detail: string }[];
}

/** One lock. Calls of the same tick travel together. All of them are safe to repeat. */
export interface Gate {
  /** Tells it from all other locks in this Redis: one of its keys. */
  readonly id: string;
  /** What stands before a contender's id in the name of its channel. */
  readonly channels: string;

  /** Takes the lock, or joins its queue. The same member may ask again. */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Hands the lock on, or leaves its queue. Resolves to whether the member held the lock. */
  release(holder: Holder, isFair: boolean): Promise<boolean>;
  /** Lengthens the lease to `leaseMs` from now, if the member holds the lock or nobody knows who does. */
  renew(holder: Holder, leaseMs: number): Promise<RenewReply>;
  /**
   * Puts back who is missing in the queue, and gives the lock to the first if nobody holds it. When nothing is known
   * of the lock any more, its holder may still be there: then nobody gets it for `quarantineMs`. At most MAX_BATCH waiters.
   */
  recheck(waiters: readonly Waiting[], quarantineMs: number): Promise<RecheckReply>;
  /** Takes members out of the queue and nothing else: those that hold the lock go on holding it. */
  forget(members: readonly string[]): Promise<void>;
  /** What a waiter is refused with whose message is `!<detail>`, for a kind that refuses waiters. */
  refusal?(detail: string): Error;
}

/** The most requests, leavers, waiters, leases, takes or count-downs in one script call: about 0.2 ms of the server's time. */
export const MAX_BATCH = 100;
