/** Random numbers of a seed: the same on each machine. The generator is sfc32 (C. Doty-Humphrey, PractRand). */

/** Rounds before the first number, so that neighbouring seeds differ. */
const WARM_UP = 12;
const RANGE = 2 ** 32;

export class Random {
  #a: number;
  #b: number;
  #c = 0x9e3779b9;
  #counter = 1;

  /** @param stream Numbers of one seed for different uses, which don't influence each other. */
  constructor(seed: number, stream = 0) {
    this.#a = seed >>> 0;
    this.#b = (Math.floor(seed / RANGE) ^ Math.imul(stream + 1, 0x85ebca6b)) >>> 0;
    for (let round = 0; round < WARM_UP; round += 1) this.uint32();
  }

  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** From 0, below 1. */
  next(): number {
    return this.uint32() / RANGE;
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!;
  }

  writeTo(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.uint32() & 0xff;
  }
}
