/**
 * Tasks that a worker has fetched before a slot is free for them. Where a handler takes less time than a round trip, the wait
 * for Redis is most of a task's time: at concurrency 1 each call would move one task. A prefetched task has a lease, but its
 * attempt has not begun: given back, it doesn't count.
 *
 * Order: prefetched tasks run in their order, but before a higher priority that comes later, and no other worker can take them.
 * So they are few, and wait shortly:
 *
 *   none ──handlers take < QUICK_MS on average, and a reply was full──► 1, 3, 7 … `most` places
 *   places ──a reply was not full, a last attempt came, or one has waited for MAX_WAIT_MS──► none
 *
 * A last attempt is never prefetched: a process that dies costs each task that it holds an attempt.
 *
 * A task that goes back must not be overtaken by the tasks behind it. So the reply to a call from before that goes back, too,
 * and nothing is fetched until it has come: `round` tells the calls apart.
 *
 * Rejected: a second call under way while the tasks of the first one run, which costs the server 40 % more a task at
 * concurrency 10; more than 8 places, which make calls little cheaper still.
 */
import type { Attempt } from './attempt.js';

/** 8 of these take half of MAX_WAIT_MS. */
const QUICK_MS = 0.5;
/** 8 of these take all of MAX_WAIT_MS. Unmeasured handlers count as slow until six in a row were quick. */
const SLOW_MS = 1;
const MAX_WAIT_MS = 8;
/** After this many quick handlers a queue is asked again that had only last attempts left. */
const RUNS_UNTIL_ASKED = 40;
const WEIGHT = 1 / 8;

export class Prefetch {
  readonly #most: number;
  readonly #giveBack: (attempt: Attempt) => void;
  #waiting: { readonly attempt: Attempt; readonly since: number }[] = [];
  /** How long the latest handlers took. */
  #meanMs = SLOW_MS;
  #places = 0;
  /** The rest of the present reply goes back, to keep its order. */
  #isClosed = false;
  #round = 0;
  #runsUntilAsked = 0;
  #timeout: NodeJS.Timeout | undefined;

  /**
   * @param most How many tasks may wait; 0 for none.
   * @param giveBack Ends an attempt that has not begun, unless it is over by now. Must not throw.
   */
  constructor(most: number, giveBack: (attempt: Attempt) => void) {
    this.#most = most;
    this.#giveBack = giveBack;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Another number after each give-back: tasks of an earlier call have come too late. */
  get round(): number {
    return this.#round;
  }

  /** How many may wait now. */
  get places(): number {
    return this.#meanMs < QUICK_MS && this.#runsUntilAsked === 0 ? this.#places : 0;
  }

  /** A handler has taken this time. */
  ran(ms: number): void {
    this.#meanMs += (ms - this.#meanMs) * WEIGHT;
    if (this.#runsUntilAsked > 0) this.#runsUntilAsked -= 1;
    if (this.#waiting.length > 0 && this.#meanMs >= SLOW_MS) this.giveBack();
  }

  /**
   * A reply has brought as many tasks as were asked for, or fewer; called before they are added. `isKept`: the queue has more,
   * but only last attempts, which wait there.
   */
  answered(isFull: boolean, isKept = false): void {
    if (isKept) this.#runsUntilAsked = RUNS_UNTIL_ASKED;
    this.#places = isFull ? Math.min(this.#most, 2 * this.#places + 1) : 0;
    this.#isClosed = false;
  }

  /** False: it cannot wait here. */
  add(attempt: Attempt): boolean {
    if (!this.#isClosed && attempt.attempt >= attempt.attempts) this.#reset();
    if (this.#isClosed) return false;
    this.#waiting.push({ attempt, since: performance.now() });
    this.#timeout ??= setTimeout(() => this.#look(), MAX_WAIT_MS);
    return true;
  }

  /** Takes out the first one, which may be over by now. */
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

  /** The first one has waited longest. */
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
