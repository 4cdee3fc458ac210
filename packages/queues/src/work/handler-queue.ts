/**
 * The tasks of one name that wait in the worker, because the name has its own concurrency or a batch handler. They have a
 * lease, but their attempts have not started: given back, they don't count.
 *
 * A queue may begin with a million tasks of a name that runs two at a time, and other tasks must not wait for them. So few
 * tasks wait here; the others go back to Redis for a short delay, see return-pace.ts.
 * Rejected: fetching nothing more, which stops all other names; a list for each name in Redis, which makes an order across
 * names and priorities impossible.
 */
import { afterMicrotasks } from '@mortise/redis';
import type { Attempt } from './attempt.js';
import type { ResolvedHandler } from './handlers.js';
import { ReturnPace } from './return-pace.js';

const MIN_PLACES = 16;

export class HandlerQueue {
  readonly #handler: ResolvedHandler;
  readonly #begin: (attempts: Attempt[]) => void;
  readonly #places: number;
  #waiting: Attempt[] = [];
  #calls = 0;
  /** The batch window of the first task is over. */
  #isDue = false;
  #batchWindow: NodeJS.Timeout | undefined;
  #isFlushing = false;
  readonly #pace = new ReturnPace();

  /** @param begin Runs tasks in one call; `call `ended` at its end. Must not throw. */
  constructor(handler: ResolvedHandler, begin: (attempts: Attempt[]) => void) {
    this.#handler = handler;
    this.#begin = begin;
    // Tasks of a batch have slots. Of other tasks, enough wait to bridge the time until the next ones arrive.
    this.#places = handler.handleMany ? handler.maxSize : Math.max(MIN_PLACES, 2 * handler.maxCalls);
  }

  /** Tasks of a batch keep the slots that were reserved for them. */
  get slots(): number {
    return this.#handler.handleMany ? this.#waiting.length : 0;
  }

  /** Call `begin` afterwards. False: there is no place, and the task has to go back for `delayMs`. */
  add(attempt: Attempt): boolean {
    if (this.#waiting.length >= this.#places) return false;
    this.#waiting.push(attempt);
    return true;
  }

  /** The delay of the next task without a place. */
  delayMs(): number {
    return this.#pace.next();
  }

  /** A call has ended: there is room for another. */
  ended(): void {
    this.#calls -= 1;
    this.begin();
  }

  /** Removes and returns all waiting tasks. */
  clear(): Attempt[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#endWindow();
    return waiting;
  }

  /** Starts as many calls as may run. */
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
