/**
 * Tasks that a worker has fetched before a slot is free. Where a handler takes less time than a round trip, the wait for
 * Redis is most of a task's time: at concurrency 1 each call would move one task. A prefetched task has a lease, but its
 * attempt has not started: given back, it doesn't count.
 *
 * Prefetched tasks run in order, but before tasks of a higher priority that come later, and no other worker can take them.
 * So they are few, and wait only briefly:
 *
 *   none ──handlers take < QUICK_MS on average, and a reply was full──► 1, 3, 7 … `most` places
 *   places ──a reply was not full, a last attempt came, or one has waited for MAX_WAIT_MS──► none
 *
 * A last attempt is never prefetched: a process that dies costs each task that it holds an attempt.
 *
 * Later tasks must not overtake a task that goes back. So the reply to an earlier call goes back too, and fetching waits for
 * that reply: `round` tells the calls apart.
 *
 * Rejected: a second call while the tasks of the first one run, which costs the server 40 % more for each task at
 * concurrency 10; more than 8 places, which hardly makes calls cheaper.
 */
import type { Attempt } from './attempt.js';

/** 8 of these take half of MAX_WAIT_MS. */
const QUICK_MS = 0.5;
/** 8 of these take all of MAX_WAIT_MS. Unmeasured handlers count as slow until six in a row were quick. */
const SLOW_MS = 1;
const MAX_WAIT_MS = 8;
/** After this many quick handlers, prefetch is tried again in a queue that had only last attempts. */
const RUNS_UNTIL_RETRY = 40;
const WEIGHT = 1 / 8;

export class Prefetch {
  readonly #most: number;
  readonly #giveBack: (attempt: Attempt) => void;
  #waiting: { readonly attempt: Attempt; readonly since: number }[] = [];
  /** Mean duration of the latest handlers. */
  #meanMs = SLOW_MS;
  #places = 0;
  /** The remainder of this reply goes back, to keep its order. */
  #isClosed = false;
  #round = 0;
  #runsUntilAsked = 0;
  #timeout: NodeJS.Timeout | undefined;

  /**
   * @param most Maximum of waiting tasks; 0: no prefetch.
   * @param giveBack Ends an attempt that has not started, unless it is over already. Must not throw.
   */
  constructor(most: number, giveBack: (attempt: Attempt) => void) {
    this.#most = most;
    this.#giveBack = giveBack;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Changes with each give-back, so that tasks of an earlier call are recognized. */
  get round(): number {
    return this.#round;
  }

  /** How many tasks may wait now. */
  get places(): number {
    return this.#meanMs < QUICK_MS && this.#runsUntilAsked === 0 ? this.#places : 0;
  }

  /** Measures a handler. */
  ran(ms: number): void {
    this.#meanMs += (ms - this.#meanMs) * WEIGHT;
    if (this.#runsUntilAsked > 0) this.#runsUntilAsked -= 1;
    if (this.#waiting.length > 0 && this.#meanMs >= SLOW_MS) this.giveBack();
  }

  /**
   * Adjusts the places to a reply; call it before its tasks are added. `isFull`: the reply brought all requested tasks.
   * `isKept`: the queue has more tasks, but only on their last attempts. They stay there.
   */
  answered(isFull: boolean, isKept = false): void {
    if (isKept) this.#runsUntilAsked = RUNS_UNTIL_RETRY;
    this.#places = isFull ? Math.min(this.#most, 2 * this.#places + 1) : 0;
    this.#isClosed = false;
  }

  /** False: the task cannot wait here. */
  add(attempt: Attempt): boolean {
    if (!this.#isClosed && attempt.attempt >= attempt.attempts) this.#reset();
    if (this.#isClosed) return false;
    this.#waiting.push({ attempt, since: performance.now() });
    this.#timeout ??= setTimeout(() => this.#look(), MAX_WAIT_MS);
    return true;
  }

  /** Removes and returns the first task, whose attempt may be over. */
  next(): Attempt | undefined {
    return this.#waiting.shift()?.attempt;
  }

  /** Gives all back. */
  giveBack(): void {
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
    if (this.#waiting.length > 0) this.#round += 1;
    for (const { attempt } of this.#waiting.splice(0)) this.#giveBack(attempt);
  }

  /** Gives all back if the first one, which is the oldest, has waited too long. */
  #look(): void {
    this.#timeout = undefined;
    const [first] = this.#waiting;
    if (!first) return;
    const leftMs = first.since + MAX_WAIT_MS - performance.now();
    if (leftMs > 0) {
      this.#timeout = setTimeout(() => this.#look(), Math.ceil(leftMs));
    } else {
      this.#reset();
      this.giveBack();
    }
  }

  #reset(): void {
    this.#meanMs = Math.max(this.#meanMs, SLOW_MS);
    this.#places = 0;
    this.#isClosed = true;
    this.#round += 1;
  }
}
