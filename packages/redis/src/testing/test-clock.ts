/**
 * Time that passes only when a test says so. While it is installed, it takes the place of the timers, `Date` and `performance.now()` of
 * the program, and the server in memory reads it: leases, delays, schedules and expiries follow it together.
 *
 * Between two timers the event loop runs until it is quiet. That is decided by the replies of the servers on this clock: a turn in
 * which none was delivered, and no timer fell due, several times in a row.
 *
 * Rejected: the fake timers of jest or vitest. The packages wait for replies between timers, which each library drives differently,
 * and node:test has no asynchronous ones. They can be used with `clock: 'system'`.
 */
import { durationMs } from './duration.js';
import { installGlobals } from './fake-globals.js';
import type { FakeTimer } from './fake-timer.js';
import { Timers } from './fake-timer.js';

const { setImmediate: soon } = globalThis;
/** So many turns of the event loop without a reply are quiet. */
const QUIET_TURNS = 3;
/** A timer that sets itself again at once would never let the time pass. */
const MOST_AT_ONCE = 100_000;

export class TestClock {
  readonly #timers = new Timers();
  readonly #sources = new Set<() => number>();
  #now: number;
  readonly #restore: () => void;

  /** Installs the clock. One clock is installed at a time; a second one throws. @param startAt ms since the epoch. */
  constructor(startAt: number = Date.now()) {
    this.#now = Math.floor(startAt);
    this.#restore = installGlobals({ timers: this.#timers, now: () => this.#now });
  }

  /** The present instant, ms since the epoch. */
  get now(): number {
    return this.#now;
  }

  /** The number of waiting timers. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Adds a counter of activity: while the count grows, the program isn't quiet. Returns a function that removes the counter. */
  watch(count: () => number): () => void {
    this.#sources.add(count);
    return () => this.#sources.delete(count);
  }

  /**
   * Lets this time pass: ms, or a text such as `30s`, `5m` or `1h 30m`. Timers fire in their order, each at its instant. The
   * work that a timer starts has ended before the next timer fires. Work outside of the program, such as a request to another
   * server, is not awaited.
   */
  async advance(duration: number | string): Promise<void> {
    const until = this.#now + durationMs(duration);
    await this.settle();
    for (let next = this.#timers.nextAt(); next <= until; next = this.#timers.nextAt()) {
      this.#now = Math.max(this.#now, next);
      await this.settle();
    }
    this.#now = until;
    await this.settle();
  }

  /** Lets the time pass up to the next timer. Resolves to false without a timer. */
  async advanceToNext(): Promise<boolean> {
    await this.settle();
    const next = this.#timers.nextAt();
    if (next === Infinity) return false;
    this.#now = Math.max(this.#now, next);
    await this.settle();
    return true;
  }

  /** Runs the program until it only waits for timers or for something outside. Time stands still; timers that are due fire. */
  async settle(): Promise<void> {
    let fired = 0;
    for (let quiet = 0; quiet < QUIET_TURNS;) {
      const before = this.#count();
      await turn();
      const due = this.#timers.takeDue(this.#now);
      if (due) {
        fired += 1;
        if (fired > MOST_AT_ONCE)
          throw new Error(`${MOST_AT_ONCE} timers fired at one instant: one sets itself again`);
        fire(due);
      }
      quiet = due || this.#count() !== before ? 0 : quiet + 1;
    }
  }

  /** Restores the timers, `Date` and `performance.now()` of Node. Timers that wait never fire. */
  uninstall(): void {
    this.#restore();
    this.#timers.clear();
  }

  #count(): number {
    let sum = 0;
    for (const source of this.#sources) sum += source();
    return sum;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    soon(resolve);
  });
}

/** A timer that throws ends in an uncaught exception, as with the timers of Node. */
function fire(timer: FakeTimer): void {
  soon(() => timer.run());
}
