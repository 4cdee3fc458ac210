/**
 * Tasks that a worker has taken beyond its free slots, so that a slot that becomes free need not wait for Redis. Where handlers
 * take less time than a round trip, that wait is most of what a task takes; at concurrency 1 a call would move one task.
 * They are under a lease, but no attempt of theirs has begun: given back, it doesn't count.
 *
 * What waits here is kept from other workers, and goes before priorities above it. So it is little, and for a short time:
 * MOST tasks, only while handlers take less than QUICK_MS on average, only once the queue has given all that it was asked
 * for (one at first, and more with each such answer), and no longer than PATIENCE_MS. Nor does a last attempt wait here: the
 * process may die, which counts as an attempt of all that it holds. After any of that a worker begins as if it had measured
 * nothing.
 *
 * What goes back must not be overtaken by what stood behind it: an answer to a call that was made before that goes back as well,
 * and until it has come nothing more is asked for; see `round`.
 *
 * Rejected: a second call under way while the tasks of the first one run, which costs the server 40 % more for each task at
 * concurrency 10; more than MOST, which makes calls little cheaper still.
 */
import type { Attempt } from './attempt.js';

const MOST = 8;
/** MOST of these take half of PATIENCE_MS. */
const QUICK_MS = 0.5;
/** MOST of these take all of PATIENCE_MS. What nobody has measured counts as slow until six in a row were quick. */
const SLOW_MS = 1;
const PATIENCE_MS = 8;
/** After so many quick ones a queue is asked again that has kept back what would have had to wait here. */
const RUNS_UNTIL_ASKED = 40;
const WEIGHT = 1 / 8;

export class Ahead {
  readonly #giveBack: (attempt: Attempt) => void;
  #waiting: { readonly attempt: Attempt; readonly since: number }[] = [];
  /** How long handlers take, by the latest ones. */
  #meanMs = SLOW_MS;
  /** So many the queue has shown to be worth it. */
  #most = 0;
  /** What comes with the present answer goes back, to keep its order. */
  #isClosed = false;
  #round = 0;
  #runsUntilAsked = 0;
  #patience: NodeJS.Timeout | undefined;

  /** @param giveBack Ends an attempt that has not begun, unless it is over by now. Must not throw. */
  constructor(giveBack: (attempt: Attempt) => void) {
    this.#giveBack = giveBack;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Another number whenever something has gone back: what was asked for before that has come too late. */
  get round(): number {
    return this.#round;
  }

  /** Handlers have taken little time lately. */
  get isQuick(): boolean {
    return this.#meanMs < QUICK_MS;
  }

  /** How many may wait now. */
  get places(): number {
    return this.isQuick && this.#runsUntilAsked === 0 ? this.#most : 0;
  }

  /** A handler has taken so long. */
  ran(ms: number): void {
    this.#meanMs += (ms - this.#meanMs) * WEIGHT;
    if (this.#runsUntilAsked > 0) this.#runsUntilAsked -= 1;
    if (this.#waiting.length > 0 && this.#meanMs >= SLOW_MS) this.giveBack();
  }

  /**
   * The queue was asked for tasks, and gave as many or fewer; to be told before these are added. `isKept`: it has more, but nothing
   * that may wait here.
   */
  answered(isFull: boolean, isKept = false): void {
    if (isKept) this.#runsUntilAsked = RUNS_UNTIL_ASKED;
    this.#most = isFull ? Math.min(MOST, 2 * this.#most + 1) : 0;
    this.#isClosed = false;
  }

  /** False: it cannot wait here. */
  add(attempt: Attempt): boolean {
    if (!this.#isClosed && attempt.attempt >= attempt.attempts) this.#beginAnew();
    if (this.#isClosed) return false;
    this.#waiting.push({ attempt, since: performance.now() });
    this.#patience ??= setTimeout(() => this.#look(), PATIENCE_MS);
    return true;
  }

  /** The first one, which may be over by now; it waits no longer. */
  next(): Attempt | undefined {
    return this.#waiting.shift()?.attempt;
  }

  /** All of them. */
  giveBack(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    if (this.#waiting.length > 0) this.#round += 1;
    for (const { attempt } of this.#waiting.splice(0)) this.#giveBack(attempt);
  }

  /** The first one has waited longest, and all others stand behind it. */
  #look(): void {
    this.#patience = undefined;
    const [first] = this.#waiting;
    if (!first) return;
    const leftMs = first.since + PATIENCE_MS - performance.now();
    if (leftMs > 0) {
      this.#patience = setTimeout(() => this.#look(), Math.ceil(leftMs));
    } else {
      this.#beginAnew();
      this.giveBack();
    }
  }

  #beginAnew(): void {
    this.#meanMs = Math.max(this.#meanMs, SLOW_MS);
    this.#most = 0;
    this.#isClosed = true;
    this.#round += 1;
  }
}
