/**
 * Delays of tasks that a worker returns because it can't run them now. Half a millisecond lies between their instants, so a
 * worker fetches at most 2,000 of them a second again (about 1 % of a server) and they keep their order. The instants are in
 * steps of 0.1 s: more of them would be more timers.
 */

const PACE_MS = 0.5;
const STEP_MS = 100;

export class ReturnPace {
  #nextAt = 0;

  /** The delay of the next task. */
  next(): number {
    const now = performance.now();
    this.#nextAt = Math.max(this.#nextAt, now) + PACE_MS;
    return Math.ceil(this.#nextAt / STEP_MS) * STEP_MS - now;
  }
}
