/**
 * Where tasks of one name stand that cannot run as they come, because the name has a limit of its own or is run in
 * batches. They are under a lease, but no attempt of theirs has begun: given back, it doesn't count.
 *
 * A queue may begin with a million tasks of a name that runs two at a time, and what lies behind them shall not wait for
 * them. So a line is short; who finds no place goes back to the queue, to come again a little later. These instants follow
 * each other at half a millisecond, in steps of 0.1 s: the tasks keep their order, and a worker looks at 2,000 of them a
 * second at most (about 1 % of a server), however many there are. Rejected: not to take any more, which stops all other
 * names; a list for each name in Redis, which makes an order across names and priorities impossible.
 */
import { afterMicrotasks } from '@mortise/redis';
import type { Attempt } from './attempt.js';
import type { ResolvedHandler } from './handlers.js';

const MIN_PLACES = 16;
const PACE_MS = 0.5;
const STEP_MS = 100;

export class Line {
  readonly #handler: ResolvedHandler;
  readonly #begin: (attempts: Attempt[]) => void;
  readonly #places: number;
  #waiting: Attempt[] = [];
  #calls = 0;
  /** The first one has waited for others long enough. */
  #isDue = false;
  #patience: NodeJS.Timeout | undefined;
  #isFlushing = false;
  #nextAt = 0;

  /**
   * @param begin Runs tasks in one call, but for those that have lost their lease by now; `ended` is called when it is over.
   * Must not throw.
   */
  constructor(handler: ResolvedHandler, begin: (attempts: Attempt[]) => void) {
    this.#handler = handler;
    this.#begin = begin;
    // In a batch, places are slots; for the others, there shall be enough until the next ones come.
    this.#places = handler.handleMany ? handler.maxSize : Math.max(MIN_PLACES, 2 * handler.maxCalls);
  }

  /** Those that fill a batch keep the slots that were reserved for them. */
  get slots(): number {
    return this.#handler.handleMany ? this.#waiting.length : 0;
  }

  /** False: there is no place, and the task has to go back for `delayMs`. */
  add(attempt: Attempt): boolean {
    if (this.#waiting.length >= this.#places) return false;
    this.#waiting.push(attempt);
    this.#pump();
    return true;
  }

  /** For how long the next one that found no place goes back. */
  delayMs(): number {
    const now = performance.now();
    this.#nextAt = Math.max(this.#nextAt, now) + PACE_MS;
    return Math.ceil(this.#nextAt / STEP_MS) * STEP_MS - now;
  }

  /** A call is over: there is place for another. */
  ended(): void {
    this.#calls -= 1;
    this.#pump();
  }

  /** Takes out all that wait. */
  clear(): Attempt[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#rest();
    return waiting;
  }

  #pump(): void {
    const { maxCalls, maxSize } = this.#handler;
    while (this.#calls < maxCalls && (this.#waiting.length >= maxSize || this.#isDue)) {
      const attempts = this.#waiting.splice(0, maxSize);
      this.#rest();
      this.#calls += 1;
      this.#begin(attempts);
    }
    if (this.#waiting.length > 0 && this.#waiting.length < maxSize) this.#wait();
  }

  #wait(): void {
    if (this.#isDue || this.#patience || this.#isFlushing) return;
    if (this.#handler.waitMs > 0) {
      this.#patience = setTimeout(() => this.#flush(), this.#handler.waitMs);
      return;
    }
    this.#isFlushing = true;
    afterMicrotasks(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    this.#patience = undefined;
    this.#isDue = this.#waiting.length > 0;
    this.#pump();
  }

  #rest(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#isDue = false;
  }
}
