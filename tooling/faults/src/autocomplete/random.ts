/** Numbers that look random and follow from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** From 0 up to 1. */
  fraction(): number {
    // Marsaglia's xorshift32.
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }

  /** From 0 up to a number. */
  below(count: number): number {
    return Math.floor(count * this.fraction());
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** The first ones more often. */
  early<Item>(items: readonly Item[]): Item {
    return items[Math.floor(items.length * this.fraction() ** 2)]!;
  }

  isOneOf(count: number): boolean {
    return this.below(count) === 0;
  }
}
