/**
 * Lets the waits of a process look again one after the other. Each look costs Redis some commands, so a thousand waits that
 * looked every few seconds by themselves would cost it hundreds of commands a second.
 *
 *   free ──join: its turn──► pausing ──the pause is over: the turn of the longest waiting, or free──►
 */
export class Turns {
  readonly #pauseMs: number;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param pauseMs The time between two turns. */
  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** Calls `onTurn` once, now if nobody had a turn lately. Returns a function that gives the turn up. O(1). */
  join(onTurn: () => void): () => void {
    this.#waiting.add(onTurn);
    if (!this.#timer) this.#next();
    return () => {
      this.#waiting.delete(onTurn);
    };
  }

  #next(): void {
    const [first] = this.#waiting;
    this.#timer = first && setTimeout(() => this.#next(), this.#pauseMs).unref();
    if (!first) return;
    this.#waiting.delete(first);
    first();
  }
}
