/**
 * Yields the values of several sources, as they come. A source is asked for its next value when the last one was taken. So a
 * slow reader delays all sources, and nothing is buffered. Rejected: `Promise.race` over the next values, since a quiet source
 * then keeps a reaction for each value.
 */
export class Merged<Value> {
  readonly #waiting: { readonly value: Value; readonly taken: () => void }[] = [];
  #wake: (() => void) | undefined;
  #error: Error | undefined;
  #left = 0;

  /** Reads a source until the source ends. An error of a source ends the whole iteration. */
  add(source: AsyncIterable<Value>): void {
    this.#left += 1;
    void this.#read(source);
  }

  async #read(source: AsyncIterable<Value>): Promise<void> {
    try {
      for await (const value of source) {
        await new Promise<void>((taken) => {
          this.#waiting.push({ value, taken });
          this.#wake?.();
        });
      }
    } catch (error) {
      this.#error ??= error as Error;
    }
    this.#left -= 1;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value, void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        yield next.value;
        next.taken();
      } else if (this.#error) throw this.#error;
      else if (this.#left === 0) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
