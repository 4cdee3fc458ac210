import type { Tenure } from './tenure.js';

/** One step of a lock, as a specification sees it: it happens at one instant between `from` and `until`. */
export interface Step {
  readonly kind: 'acquire' | 'release' | 'expire';
  readonly tenure: Tenure;
  /** The number of the lease in the order of fencing tokens; undefined for all if the lock has no tokens. */
  readonly turn: number | undefined;
  /** The reply of a release: the client held the lock until then, or not, or there was no reply. */
  readonly outcome: 'released' | 'lost' | 'unknown';
  readonly from: number;
  /** Infinity: it may happen at any time, or never. */
  readonly until: number;
}

/** A sequential lock. States are values: a step gives another one. */
export interface Model<State> {
  readonly name: string;
  readonly initial: State;
  /** The state after the step, or undefined where the lock would not have allowed it. */
  step(state: State, step: Step): State | undefined;
  /** The same text for the same state. */
  keyOf(state: State): string;
  /** Whether these, held at the same time, are too many. */
  isTooMany(held: ReadonlySet<Tenure>): boolean;
}

/**
 * A rule of all models: fencing tokens rise with each grant, so only the lease with the next token can be granted. The rule
 * is checked in this way, and it leaves few orders to search.
 */
export function isNext(step: Step, granted: number): boolean {
  return step.turn === undefined || step.turn === granted;
}

/** Whether a step that ends the lease is possible while it is held. */
export function mayEnd(step: Step): boolean {
  return step.outcome !== 'lost';
}

/** Whether a release that finds the lease gone is possible. */
export function mayFindNothing(step: Step): boolean {
  return step.outcome !== 'released' || step.tenure.isForgettable;
}
