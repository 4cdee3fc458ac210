/** The ends of members of gzip that were read, at which a cursor can stand: each as a byte of the file and as one of the text. */
export interface MemberEnd {
  readonly offset: number;
  readonly text: number;
}

/** Ends that are closer to each other are not told apart, so that a file of tiny members takes no memory. */
const SPACING_BYTES = 1_024;

export class MemberEnds {
  /** The first one is where the cursor stands. */
  readonly #ends: MemberEnd[];

  constructor(begin: MemberEnd) {
    this.#ends = [begin];
  }

  add(end: MemberEnd): void {
    const before = this.#ends.at(-2);
    if (before && end.offset - before.offset < SPACING_BYTES) this.#ends.pop();
    this.#ends.push(end);
  }

  /** The last one at or before a byte of the text. */
  endBefore(text: number): MemberEnd {
    return this.#ends.findLast((end) => end.text <= text) ?? this.#ends[0]!;
  }

  /** The cursor stands there now. */
  forget(end: MemberEnd): void {
    this.#ends.splice(0, this.#ends.indexOf(end));
  }
}
