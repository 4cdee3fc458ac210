/** The operations of a lock of any kind in Redis. Acquisitions, wait queues and leases use only this interface. */

/** `wait` joins the queue, `try` does not. `barge` and `grab` do the same, but take a free lock even if others wait. */
export type AcquireMode = 'wait' | 'try' | 'barge' | 'grab';

export interface AcquireRequest {
  /** The id of one acquisition: `<client>.<number>.<confirmMs>`, and `.<role>` if it has one. */
  readonly member: string;
  readonly leaseMs: number;
  readonly mode: AcquireMode;
  /** Whether the caller wants a fencing token. Only a Mutex costs less without one. */
  readonly isFenced: boolean;
}

/** An instant on both clocks: the server's clock showed `serverUs` at `sentAt` or later. */
export interface Moment {
  /** By `performance.now()`. */
  readonly sentAt: number;
  readonly serverUs: number;
}

export interface AcquireReply extends Moment {
  readonly outcome: 'held' | 'queued' | 'refused';
  /** The fencing token of a holder, the place of a waiter. */
  readonly value: number;
  /** If the outcome is not `held`: when the blocking lease ends; negative if the lock is free. */
  readonly remainingMs: number;
}

export interface Holder {
  readonly member: string;
  /** 0 for a lease without a token, and for one that has ended locally: Redis restores neither. */
  readonly fencingToken: number;
}

export interface ReleaseRequest extends Holder {
  readonly isFair: boolean;
  /** Whether another process takes the lock away from the member. */
  readonly isForced: boolean;
}

export interface RenewRequest extends Holder {
  readonly leaseMs: number;
}

export interface RenewReply {
  readonly isHeld: boolean;
  readonly sentAt: number;
}

/** An entry of the queue in Redis. */
export interface QueueEntry {
  readonly member: string;
  /** The score in the queue. */
  readonly place: number;
}

export interface RecheckRequest {
  readonly waiters: readonly QueueEntry[];
  /** How long a lost holder may still rely on the lock, ms; 0: unknown whether there was one. */
  readonly quarantineMs: number;
}

export interface RecheckReply extends Moment {
  readonly remainingMs: number;
  /** Number of waiters that were missing from the queue and put back. */
  readonly missing: number;
  /** Waiters that hold the lock: their index and their fencing token. */
  readonly grants: readonly { readonly index: number; readonly fencingToken: number }[];
  /** Waiters that can never be granted the lock: their index, and the argument of `refusal`. */
  readonly refusals?: readonly { readonly index: number; readonly detail: string }[];
}

/** One lock. Calls of one tick share a script call. Every call is safe to repeat. */
export interface Gate {
  /** One of the keys of the lock. No other lock in this Redis has it. */
  readonly id: string;
  /** The channels of this lock, without the client's id at the end. */
  readonly channels: string;

  /** Acquires the lock, or joins its queue. The same member may repeat the request. */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Grants the lock to the next waiter, or leaves the queue. Resolves to whether the member held the lock. */
  release(holder: Holder, isFair: boolean): Promise<boolean>;
  /** Extends the lease to `leaseMs` from now, if the member holds the lock or the keys of the lock were lost. */
  renew(holder: Holder, leaseMs: number): Promise<RenewReply>;
  /**
   * Puts missing waiters back into the queue, and grants a lock without a holder to the first waiter. If all keys of the
   * lock were lost, its holder may still rely on it: then nobody gets it for `quarantineMs`. Accepts at most MAX_BATCH
   * waiters.
   */
  recheck(waiters: readonly QueueEntry[], quarantineMs: number): Promise<RecheckReply>;
  /** Removes members from the queue. Members that hold the lock keep it. */
  forget(members: readonly string[]): Promise<void>;
  /** The error for a waiter refused with the message `!<detail>`. */
  refusal?(detail: string): Error;
}

/** Maximum of requests in one script call: about 0.2 ms of the server. */
export const MAX_BATCH = 100;
