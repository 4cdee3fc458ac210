/**
 * One timer of the process for many callbacks that are due at different times.
 *
 * A `Loop` runs one step after another, so a hanging server would delay the callbacks of all others. Here each callback
 * runs independently. The timer never keeps the process alive. Deleting a callback touches no timer: a lock that is
 * acquired and released within a millisecond only changes a Map twice.
 */
export class SharedTimer {
  readonly #slackMs: number;
  readonly #dueAt = new Map<() => void, number>();
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Infinity;

  /** @param slackMs A callback may run this much early, so that many callbacks share few wake-ups of the process. */
  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Runs `callback` once, at `dueAt` by `performance.now()` or up to the slack earlier. It must not throw. */
  set(callback: () => void, dueAt: number): void {
    this.#dueAt.set(callback, dueAt);
    if (dueAt < this.#armedFor) this.#arm(dueAt);
  }

  delete(callback: () => void): void {
    this.#dueAt.delete(callback);
  }

  #arm(dueAt: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = dueAt;
    const left = Math.max(1, Math.ceil(dueAt - performance.now()));
    this.#timer = setTimeout(() => this.#run(), left).unref();
  }

  #run(): void {
    this.#armedFor = Infinity;
    const limit = performance.now() + this.#slackMs;
    const due: (() => void)[] = [];
    let next = Infinity;
    for (const [callback, dueAt] of this.#dueAt) {
      if (dueAt <= limit) due.push(callback);
      else next = Math.min(next, dueAt);
    }
    for (const callback of due) {
      this.#dueAt.delete(callback);
      callback();
    }
    if (next < this.#armedFor) this.#arm(next);
  }
}
