/** Cuts blocks, which end anywhere, into pieces of whole lines. A line that spans blocks is put together in a buffer of its own. */
const NEWLINE = 10;

/** Whole lines of a file: from `start` to `end` of `bytes`, whose first byte stands at `base` in the file. */
export interface LineBlock {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly base: number;
  /** Of a single line that is too long: bytes that are in the file and were not kept. */
  readonly lost: number;
}

export class LineBlocks {
  readonly #maxLineBytes: number;
  #carried = Buffer.alloc(256);
  #carriedLength = 0;
  /** The length of the line whose beginning is in `#carried`: of a line that is too long, more than is kept. */
  #carriedSize = 0;
  #offset: number;

  /** @param offset Of the first byte of the first block. */
  constructor(offset: number, maxLineBytes: number) {
    this.#offset = offset;
    this.#maxLineBytes = maxLineBytes;
  }

  /** The offset after the last byte of the blocks so far. */
  get offset(): number {
    return this.#offset;
  }

  /** The lines that end in this block, valid until the next call. */
  *add(block: Uint8Array): Generator<LineBlock> {
    const base = this.#offset;
    this.#offset += block.length;
    const last = block.lastIndexOf(NEWLINE);
    if (last < 0) {
      this.#keep(block);
      return;
    }
    let start = 0;
    if (this.#carriedSize > 0) {
      start = block.indexOf(NEWLINE) + 1;
      this.#keep(block.subarray(0, start));
      yield this.#takeCarried(base + start);
    }
    if (last + 1 > start) yield { bytes: block, start, end: last + 1, base, lost: 0 };
    this.#keep(block.subarray(last + 1));
  }

  /** The last line, if it has no newline: it gets one, which lies after the end of the file. */
  *end(): Generator<LineBlock> {
    if (this.#carriedSize === 0) return;
    this.#keep(Uint8Array.of(NEWLINE));
    yield this.#takeCarried(this.#offset + 1);
  }

  /** @param end The offset after its newline. */
  #takeCarried(end: number): LineBlock {
    const length = this.#carriedLength;
    const size = this.#carriedSize;
    this.#carried[length - 1] = NEWLINE;
    this.#carriedLength = this.#carriedSize = 0;
    return { bytes: this.#carried, start: 0, end: length, base: end - size, lost: size - length };
  }

  #keep(bytes: Uint8Array): void {
    // One byte more than a line may have, and its newline: enough to know that the line is too long.
    const room = this.#maxLineBytes + 2 - this.#carriedLength;
    const kept = bytes.subarray(0, Math.max(0, room));
    if (this.#carriedLength + kept.length > this.#carried.length) {
      const larger = Buffer.alloc(Math.min(2 * (this.#carriedLength + kept.length), this.#maxLineBytes + 2));
      larger.set(this.#carried.subarray(0, this.#carriedLength));
      this.#carried = larger;
    }
    this.#carried.set(kept, this.#carriedLength);
    this.#carriedLength += kept.length;
    this.#carriedSize += bytes.length;
  }
}
