/**
 * Address -> place, for millions of ranges: sorted starts in typed arrays, 6 bytes a range of IPv4 and 20 of IPv6, without an object for each.
 * The gap between two ranges is a range of its own, whose place is 0. The first 16 bits of an address lead, by an index of 2^16 entries,
 * to the ranges that begin with them, so of their starts only the other 16 bits are stored: 50 of them are two cache lines.
 *
 * The time goes into waiting for memory. So addresses are looked up many at a time, by a search without branches: the processor then has several
 * reads under way, where a wrongly predicted branch would wait for each. They are also sorted a little, since pages that are not in the cache of
 * addresses (TLB) cost more. With 3 M ranges and addresses of all of them, lines were counted at 5.3 M a second with
 * that order and at 4.0 M without, in one run; and in another at 8.0 M with a quarter of a million addresses at a time and at 5.6 M with those of 1 MiB of lines.
 */
import { isMappedV4 } from './address.js';
import type { Places } from './places.js';

/** One more than the values of the first 16 bits: each entry has a next one. */
const JUMPS = 65_537;

/** Addresses that are looked up at once: the more there are, the more of them share a page. With 3 M ranges 52 ns each, and 86 ns with a quarter of it. */
export const MOST_AT_ONCE = 262_144;
/** Addresses whose ranges fit the first cache. */
const GROUP = 256;
/** With fewer addresses, or fewer ranges, order costs more than it gains. */
const FEW = 1_024;
const MANY = 100_000;

/** Uses the values that are read ahead, so that the compiler keeps the reads. */
const readAhead = new Uint32Array(1);
const ordered = new Uint32Array(MOST_AT_ONCE);
const bounds = new Uint32Array(257);

/** Sorts addresses by their first 8 bits, in two passes: neighbours then lie in the same few pages of memory. */
function partition(addresses: Uint32Array, count: number): void {
  bounds.fill(0);
  for (let index = 0; index < count; index += 1) bounds[(addresses[index]! >>> 24) + 1]! += 1;
  for (let top = 1; top < 256; top += 1) bounds[top]! += bounds[top - 1]!;
  for (let index = 0; index < count; index += 1) {
    const address = addresses[index]!;
    ordered[bounds[address >>> 24]!++] = address;
  }
  addresses.set(count === MOST_AT_ONCE ? ordered : ordered.subarray(0, count));
}

export class RangeTable {
  /** The last 16 bits of each start, and one more entry, since reading ahead may go beyond the last one. */
  readonly #lows4: Uint16Array;
  readonly #places4: Uint32Array;
  /** For each first 16 bits: how many ranges begin before them. */
  readonly #firsts4: Uint32Array;
  readonly #starts6: Uint32Array;
  readonly #places6: Uint32Array;
  readonly #jumps6: Uint32Array;

  /**
   * Made by RangeTableBuilder.
   *
   * @param starts4 Sorted, the first one 0; `places4` has the place of each.
   * @param starts6 The same with four words for each.
   */
  constructor(
    readonly places: Places,
    starts4: Uint32Array,
    places4: Uint32Array,
    starts6: Uint32Array,
    places6: Uint32Array,
  ) {
    this.#lows4 = new Uint16Array(starts4.length + 1);
    this.#lows4.set(starts4);
    this.#places4 = places4;
    this.#firsts4 = firstsOf(starts4);
    this.#starts6 = starts6;
    this.#places6 = places6;
    this.#jumps6 = jumpsOf(starts6);
  }

  /** The number of ranges of both kinds, gaps included. */
  get ranges(): number {
    return this.#places4.length + this.#places6.length;
  }

  /** The place of an IPv4 address that is given as a number from 0 to 2^32 - 1. */
  find4(address: number): number {
    const one = Uint32Array.of(address);
    this.findMany4(one, 1);
    return one[0]!;
  }

  /** Replaces the first `count` addresses by their places, in another order. */
  findMany4(addresses: Uint32Array, count: number): void {
    const isWorthIt = count >= FEW && this.#places4.length >= MANY;
    if (isWorthIt) partition(addresses, count);
    for (let start = 0; start < count; start += GROUP) {
      this.#findGroup4(addresses, start, Math.min(count, start + GROUP));
    }
  }

  #findGroup4(addresses: Uint32Array, start: number, end: number): void {
    const lows = this.#lows4;
    const places = this.#places4;
    const firsts = this.#firsts4;
    // Reads the entries of the searches ahead: the reads are independent, so the processor waits for many at once.
    let read = 0;
    for (let index = start; index < end; index += 1) {
      const top = addresses[index]! >>> 16;
      const first = firsts[top]!;
      const quarter = (firsts[top + 1]! - first) >>> 2;
      read ^= lows[first + quarter]! ^ lows[first + 3 * quarter]!;
    }
    readAhead[0] = read;
    for (let index = start; index < end; index += 1) {
      const address = addresses[index]!;
      const top = address >>> 16;
      const low = address & 0xffff;
      // How many of the ranges in question begin at or before the address; the last of them has it, or the one before them all.
      let range = firsts[top]!;
      let left = firsts[top + 1]! - range;
      while (left > 0) {
        const half = (left + 1) >>> 1;
        // -1 where that range begins at or before the address, else 0.
        range += half & ((lows[range + half - 1]! - low - 1) >> 31);
        left -= half;
      }
      addresses[index] = range - 1;
    }
    for (let index = start; index < end; index += 1) addresses[index] = places[addresses[index]!]!;
  }

  /** The place of an IPv6 address of four words; a mapped one (`::ffff:1.2.3.4`) has the place of the IPv4 address. */
  find6(words: Uint32Array): number {
    if (isMappedV4(words)) return this.find4(words[3]!);
    const top = words[0]! >>> 16;
    let low = this.#jumps6[top]!;
    let high = this.#jumps6[top + 1]!;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#isAtMost(4 * middle, words)) low = middle;
      else high = middle - 1;
    }
    return this.#places6[low]!;
  }

  #isAtMost(at: number, words: Uint32Array): boolean {
    const starts = this.#starts6;
    for (let word = 0; word < 4; word += 1) {
      const start = starts[at + word]!;
      const wanted = words[word]!;
      if (start !== wanted) return start < wanted;
    }
    return true;
  }
}

function firstsOf(starts: Uint32Array): Uint32Array {
  const firsts = new Uint32Array(JUMPS);
  let range = 0;
  for (let top = 0; top < JUMPS; top += 1) {
    while (range < starts.length && starts[range]! < top * 65_536) range += 1;
    firsts[top] = range;
  }
  return firsts;
}

/** For each first 16 bits of IPv6: the last range that begins at or before their first address. */
function jumpsOf(starts: Uint32Array): Uint32Array {
  const jumps = new Uint32Array(JUMPS);
  const last = starts.length / 4 - 1;
  let range = 0;
  for (let top = 0; top < JUMPS; top += 1) {
    while (range < last && isAtMostTop(starts, 4 * (range + 1), top)) range += 1;
    jumps[top] = range;
  }
  return jumps;
}

function isAtMostTop(starts: Uint32Array, at: number, top: number): boolean {
  const limit = top * 65_536;
  if (starts[at]! !== limit) return starts[at]! < limit;
  return starts[at + 1] === 0 && starts[at + 2] === 0 && starts[at + 3] === 0;
}
