/**
 * The tasks of one name that wait in the worker, because the name has a concurrency of its own or is run in batches. They have a
 * lease, but their attempts have not begun: given back, they don't count.
 *
 * A queue may begin with a million tasks of a name that runs two at a time, and the tasks behind them shall not wait. So few
 * tasks wait here; the others go back to Redis, to come again a little later. Their instants are half a millisecond apart, in
 * steps of 0.1 s: the tasks keep their order, and a worker looks at 2,000 of them a second at most (about 1 % of a server).
 * Rejected: to fetch no more, which stops all other names; a list for each name in Redis, which makes an order across names and
 * priorities impossible.
 */
import { afterMicrotasks } from '@mortise/redis';
import type { Attempt } from './attempt.js';
import type { ResolvedHandler } from './handlers.js';

const MIN_PLACES = 16;
const PACE_MS = 0.5;
const STEP_MS = 100;

export class HandlerQueue {
  readonly #handler: ResolvedHandler;
  readonly #begin: (attempts: Attempt[]) => void;
  readonly #places: number;
  #waiting: Attempt[] = [];
  #calls = 0;
  /** The first task has waited for its batch long enough. */
  #isDue = false;
  #batchWindow: NodeJS.Timeout | undefined;
  #isFlushing = false;
  #nextAt = 0;

  /** @param begin Runs tasks in one call; `ended` has to be called at its end. Must not throw. */
  constructor(handler: ResolvedHandler, begin: (attempts: Attempt[]) => void) {
    this.#handler = handler;
    this.#begin = begin;
    // Tasks of a batch have slots; of the others, enough wait until the next ones come.
    this.#places = handler.handleMany ? handler.maxSize : Math.max(MIN_PLACES, 2 * handler.maxCalls);
  }

  /** Tasks of a batch keep the slots that were reserved for them. */
  get slots(): number {
    return this.#handler.handleMany ? this.#waiting.length : 0;
  }

  /** `begin` has to follow. False: there is no place, and the task has to go back for `delayMs`. */
  add(attempt: Attempt): boolean {
    if (this.#waiting.length >= this.#places) return false;
    this.#waiting.push(attempt);
    return true;
  }

  /** How long the next task without a place stays away. */
  delayMs(): number {
    const now = performance.now();
    this.#nextAt = Math.max(this.#nextAt, now) + PACE_MS;
    return Math.ceil(this.#nextAt / STEP_MS) * STEP_MS - now;
  }

  /** A call is over: there is room for another. */
  ended(): void {
    this.#calls -= 1;
    this.begin();
  }

  /** Takes out all that wait. */
  clear(): Attempt[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#endWindow();
    return waiting;
  }

  /** Begins as many calls as may run. */
  begin(): void {
    const { maxCalls, maxSize } = this.#handler;
    while (this.#calls < maxCalls && (this.#waiting.length >= maxSize || this.#isDue)) {
      const attempts = this.#waiting.splice(0, maxSize);
      this.#endWindow();
      this.#calls += 1;
      this.#begin(attempts);
    }
    if (this.#waiting.length > 0 && this.#waiting.length < maxSize) this.#wait();
  }

  #wait(): void {
    if (this.#isDue || this.#batchWindow || this.#isFlushing) return;
    if (this.#handler.waitMs > 0) {
      this.#batchWindow = setTimeout(() => this.#flush(), this.#handler.waitMs);
      return;
    }
    this.#isFlushing = true;
    afterMicrotasks(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    this.#batchWindow = undefined;
    this.#isDue = this.#waiting.length > 0;
    this.begin();
  }

  #endWindow(): void {
    clearTimeout(this.#batchWindow);
    this.#batchWindow = undefined;
    this.#isDue = false;
  }
}
