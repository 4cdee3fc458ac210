/** What a consumer asks of its worker, which has the slots and may have several queues. */
import type { Taken } from './attempt.js';
import type { Consumer } from './consumer.js';

/** What a consumer may take now. */
export interface Reserved {
  readonly want: number;
  /** So many of these find a free slot. */
  readonly slots: number;
  /** What `Slots.round` was then. */
  readonly round: number;
}

export const NOTHING: Reserved = { want: 0, slots: 0, round: 0 };

/** The worker, as a consumer sees it. */
export interface Slots {
  /**
   * Sets aside slots for what this consumer may take now; none while another queue goes first or none is free. `mayWait`: also
   * for tasks that wait for a slot here.
   */
  reserve(consumer: Consumer, most: number, mayWait: boolean): Reserved;
  /** Another number whenever tasks have gone back that stood before what calls under way may bring. */
  round(): number;
  /**
   * A call has asked for tasks, and the queue had as many, or fewer; `isKept`: it has more, but only for free slots. To be told
   * before these are handed on.
   */
  answered(isFull: boolean, isKept: boolean): void;
  /** Gives slots back, and the tasks that came for them, at this instant of the server, ms. Must not throw. */
  fill(
    consumer: Consumer,
    reserved: number,
    taken: readonly Taken[],
    leaseEndsAt: number,
    nowMs: number,
  ): void;
  /** The settings of the consumer's shard are others than they were. Must not throw. */
  adapt(consumer: Consumer): void;
}
