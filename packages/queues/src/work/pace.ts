/**
 * Which handlers are known to take little time. A task that came along with the message that wakes the worker stands under a
 * lease of a second, which a handler outlives that blocks the thread for so long; and one that ends the process does so
 * before the server has heard of it. So a handler has to have shown that it is quick, by its own name and not by the others of
 * its worker; and one that was slow once has to show it for much longer.
 */
const QUICK_MS = 0.5;
/** In a row. */
const RUNS = 6;
const SLOW_MS = 100;
const RUNS_AFTER_SLOW = 1_000;

export class Pace {
  /** How many quick ones in a row are still missing. */
  readonly #missing = new Map<string, number>();

  /** A handler has taken so long. */
  ran(name: string, ms: number): void {
    const missing = this.#missing.get(name) ?? RUNS;
    if (ms >= SLOW_MS) this.#missing.set(name, RUNS_AFTER_SLOW);
    else if (ms >= QUICK_MS) this.#missing.set(name, Math.max(missing, RUNS));
    else if (missing > 0) this.#missing.set(name, missing - 1);
  }

  isQuick(name: string): boolean {
    return this.#missing.get(name) === 0;
  }
}
