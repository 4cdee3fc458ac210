/** A number of things that may be under way at once; who comes when all are taken waits in order. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when there is one; give it back with `free`. */
  take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Gives one back. */
  free(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
