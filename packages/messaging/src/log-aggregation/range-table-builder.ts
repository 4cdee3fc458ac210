import { RangeTableError } from './errors.js';
import type { Places } from './places.js';
import { RangeTable } from './range-table.js';

const FIRST_CAPACITY = 1_024;

/** Ranges as they are added: start and end of `width` words each, and the place. */
class Ranges {
  #words: Uint32Array<ArrayBuffer>;
  #places = new Uint32Array(FIRST_CAPACITY);
  #length = 0;

  constructor(readonly width: number) {
    this.#words = new Uint32Array(2 * width * FIRST_CAPACITY);
  }

  add(start: ArrayLike<number>, end: ArrayLike<number>, place: number): void {
    const { width } = this;
    if (this.#length === this.#places.length) {
      this.#words = grown(this.#words);
      this.#places = grown(this.#places);
    }
    const at = 2 * width * this.#length;
    for (let word = 0; word < width; word += 1) {
      this.#words[at + word] = start[word]!;
      this.#words[at + width + word] = end[word]!;
    }
    this.#places[this.#length++] = place;
  }

  /** Starts and places of ranges that cover all addresses. Throws RangeTableError when two ranges overlap. */
  cover(): { starts: Uint32Array; places: Uint32Array } {
    const { width } = this;
    const words = this.#words;
    const starts = new Uint32Array(width * (2 * this.#length + 1));
    const places = new Uint32Array(2 * this.#length + 1);
    const next = new Uint32Array(width);
    let count = 0;
    let isOver = false;
    const put = (from: ArrayLike<number>, at: number, place: number): void => {
      if (count > 0 && places[count - 1] === place) return;
      for (let word = 0; word < width; word += 1) starts[width * count + word] = from[at + word]!;
      places[count++] = place;
    };
    for (const index of this.#sorted()) {
      const start = 2 * width * index;
      const order = isOver ? -1 : compare(words, start, next, 0, width);
      if (order < 0) throw new RangeTableError(`two ranges overlap at ${hex(words, start, width)}`);
      if (order > 0) put(next, 0, 0);
      put(words, start, this.#places[index]!);
      for (let word = 0; word < width; word += 1) next[word] = words[start + width + word]!;
      isOver = increment(next);
    }
    if (!isOver) put(next, 0, 0);
    return { starts: starts.slice(0, width * count), places: places.slice(0, count) };
  }

  /** Indices by start. Files of ranges are sorted, as a rule. */
  #sorted(): Uint32Array {
    const stride = 2 * this.width;
    const indices = Uint32Array.from({ length: this.#length }, (_, index) => index);
    const order = (a: number, b: number): number =>
      compare(this.#words, stride * a, this.#words, stride * b, this.width);
    for (let index = 1; index < indices.length; index += 1) {
      if (order(index - 1, index) > 0) return indices.toSorted(order);
    }
    return indices;
  }
}

/** Takes ranges in any order and makes the table of them. */
export class RangeTableBuilder {
  readonly #v4 = new Ranges(1);
  readonly #v6 = new Ranges(4);

  constructor(readonly places: Places) {}

  /** Both ends belong to the range. Throws RangeTableError when the end is before the start. */
  add4(start: number, end: number, place: number): void {
    if (end < start) throw new RangeTableError('the range ends before it begins');
    this.#v4.add([start], [end], place);
  }

  /** The same with addresses of four words. */
  add6(start: Uint32Array, end: Uint32Array, place: number): void {
    if (compare(end, 0, start, 0, 4) < 0) throw new RangeTableError('the range ends before it begins');
    this.#v6.add(start, end, place);
  }

  /** Throws RangeTableError when two ranges overlap. O(n) for ranges that were added in order. */
  build(): RangeTable {
    const v4 = this.#v4.cover();
    const v6 = this.#v6.cover();
    return new RangeTable(this.places, v4.starts, v4.places, v6.starts, v6.places);
  }
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * array.length);
  larger.set(array);
  return larger;
}

function compare(a: Uint32Array, atA: number, b: Uint32Array, atB: number, width: number): number {
  for (let word = 0; word < width; word += 1) {
    const difference = a[atA + word]! - b[atB + word]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Adds 1; true when it was the last address there is. */
export function increment(words: Uint32Array): boolean {
  for (let word = words.length - 1; word >= 0; word -= 1) {
    words[word] = words[word]! + 1;
    if (words[word] !== 0) return false;
  }
  return true;
}

function hex(words: Uint32Array, at: number, width: number): string {
  return Array.from(words.subarray(at, at + width), (word) => word.toString(16).padStart(8, '0')).join(':');
}
