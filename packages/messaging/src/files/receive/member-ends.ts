/** The end of a gzip member, at which a cursor can stand: an offset in the file and in the text. */
export interface MemberEnd {
  readonly offset: number;
  readonly text: number;
}

/** Of ends closer than this one is kept, so that a file of tiny members takes little memory. */
const SPACING_BYTES = 1_024;

/** The ends of the members read from the cursor on. */
export class MemberEnds {
  /** The cursor stands at the first one. */
  readonly #ends: MemberEnd[];

  constructor(begin: MemberEnd) {
    this.#ends = [begin];
  }

  add(end: MemberEnd): void {
    const before = this.#ends.at(-2);
    if (before && end.offset - before.offset < SPACING_BYTES) this.#ends.pop();
    this.#ends.push(end);
  }

  /** The last end at or before a byte of the text. */
  endBefore(text: number): MemberEnd {
    return this.#ends.findLast((end) => end.text <= text) ?? this.#ends[0]!;
  }

  /** The cursor has moved there. */
  forget(end: MemberEnd): void {
    this.#ends.splice(0, this.#ends.indexOf(end));
  }
}
