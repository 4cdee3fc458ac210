/** Cuts blocks, which end anywhere, into pieces of whole lines. A line that spans blocks is put together in a buffer of its own. */
const NEWLINE = 10;

/** Whole lines of a file: from `start` to `end` of `bytes`, whose first byte stands at `base` in the file. */
export interface Lines {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly base: number;
  /** Bytes that the line, the only one and too long, has in the file and not here. */
  readonly lost: number;
}

export class LineBlocks {
  readonly #maxLineBytes: number;
  #rest = Buffer.alloc(256);
  #restLength = 0;
  /** Of the bytes in `#rest`: a line that is too long is kept up to the limit, and its length is known. */
  #restSize = 0;
  #offset: number;

  /** @param offset Of the first byte that will come. */
  constructor(offset: number, maxLineBytes: number) {
    this.#offset = offset;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Offset behind the last byte that came. */
  get offset(): number {
    return this.#offset;
  }

  /** The lines that end in this block. They are good until the next call. */
  *add(block: Uint8Array): Generator<Lines> {
    const base = this.#offset;
    this.#offset += block.length;
    const last = block.lastIndexOf(NEWLINE);
    if (last < 0) {
      this.#keep(block);
      return;
    }
    let start = 0;
    if (this.#restSize > 0) {
      start = block.indexOf(NEWLINE) + 1;
      this.#keep(block.subarray(0, start));
      yield this.#takeRest(base + start);
    }
    if (last + 1 > start) yield { bytes: block, start, end: last + 1, base, lost: 0 };
    this.#keep(block.subarray(last + 1));
  }

  /** The last line, if it has no newline: it gets one, which stands behind the end of the file. */
  *end(): Generator<Lines> {
    if (this.#restSize === 0) return;
    this.#keep(Uint8Array.of(NEWLINE));
    yield this.#takeRest(this.#offset + 1);
  }

  /** @param end Offset behind its newline. */
  #takeRest(end: number): Lines {
    const length = this.#restLength;
    const size = this.#restSize;
    this.#rest[length - 1] = NEWLINE;
    this.#restLength = this.#restSize = 0;
    return { bytes: this.#rest, start: 0, end: length, base: end - size, lost: size - length };
  }

  #keep(bytes: Uint8Array): void {
    // One byte more than a line may have, and its newline: enough to see that it is too long.
    const room = this.#maxLineBytes + 2 - this.#restLength;
    const kept = bytes.subarray(0, Math.max(0, room));
    if (this.#restLength + kept.length > this.#rest.length) {
      const larger = Buffer.alloc(Math.min(2 * (this.#restLength + kept.length), this.#maxLineBytes + 2));
      larger.set(this.#rest.subarray(0, this.#restLength));
      this.#rest = larger;
    }
    this.#rest.set(kept, this.#restLength);
    this.#restLength += kept.length;
    this.#restSize += bytes.length;
  }
}
