import type { CountDownLatchKeys } from '../keys.js';

/** One latch, with the count that its user knows. */
export interface LatchTerms {
  readonly name: string;
  readonly keys: CountDownLatchKeys;
  readonly count: number;
  readonly keepMs: number;
}

/** The epoch tells a latch from an earlier one of the same name. */
export interface LatchState {
  readonly epoch: string;
  readonly remaining: number;
}
