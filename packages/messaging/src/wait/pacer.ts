/**
 * Spreads calls: one at a time, a pause apart, in the order of their requests. Each look of a wait costs Redis some commands, so
 * a thousand waits that looked every few seconds by themselves would cost it hundreds of commands a second.
 *
 *   free ──request: a call──► pausing ──the pause is over: the next call, or free──►
 */
export class Pacer {
  readonly #pauseMs: number;
  readonly #requests = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param pauseMs The time between two calls. */
  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** Calls `onDue` once, at once if the last call is long enough ago. Returns a function that withdraws the request. O(1). */
  request(onDue: () => void): () => void {
    this.#requests.add(onDue);
    if (!this.#timer) this.#next();
    return () => {
      this.#requests.delete(onDue);
    };
  }

  #next(): void {
    const [first] = this.#requests;
    this.#timer = first && setTimeout(() => this.#next(), this.#pauseMs).unref();
    if (!first) return;
    this.#requests.delete(first);
    first();
  }
}
