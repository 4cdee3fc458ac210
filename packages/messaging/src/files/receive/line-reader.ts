import { isAscii } from 'node:buffer';

const LINE_FEED = 10;
const BYTE_ORDER_MARK = '\uFEFF';
/** Maximum bytes of other lines that a kept line keeps in memory. */
const TEXT_BYTES = 1_024;
const ENDED = { value: undefined, done: true } as const;

/** The offset after the last delivered line. */
export interface LinePosition {
  offset: number;
}

/**
 * The lines of blocks that end with a line feed, except for the last one. The offset of `position` is after each block when
 * that comes, and after each line when it is delivered.
 *
 * Not an async generator, in which each line takes three turns of the microtask queue, and half of the time: lines that are
 * available are delivered at once. Lines of ASCII are slices of a text of several lines, which takes a third of the time of
 * separate strings. Such a text lives as long as any of its slices, so it is short.
 */
export class LineReader implements AsyncIterableIterator<string> {
  readonly #blocks: AsyncGenerator<Buffer>;
  readonly #position: LinePosition;
  #block: Buffer = Buffer.alloc(0);
  #isAscii = true;
  /** The decoded lines of an ASCII block. */
  #text = '';
  #textFrom = 0;
  /** Offset of the next line in the block, and of the block in the file. */
  #from = 0;
  #start = 0;
  /** Number of waiting calls, and the last of them. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  readonly #isUniversal: boolean;
  /** Whether the next line is the first one of the file. */
  #isFirst: boolean;

  /** @param isUniversal Leaves out carriage returns at the ends of lines, and a byte-order mark. */
  constructor(blocks: AsyncGenerator<Buffer>, position: LinePosition, isUniversal = false) {
    this.#blocks = blocks;
    this.#position = position;
    this.#isUniversal = isUniversal;
    this.#isFirst = position.offset === 0;
  }

  next(): Promise<IteratorResult<string, undefined>> {
    if (this.#waiting === 0 && this.#from < this.#block.length) {
      return Promise.resolve({ value: this.#take(), done: false });
    }
    return this.#inOrder(() => this.#nextOfBlocks());
  }

  /** Ends the blocks: no more lines come. */
  return(): Promise<IteratorResult<string, undefined>> {
    return this.#inOrder(async () => {
      this.#from = this.#block.length;
      await this.#blocks.return(undefined);
      return ENDED;
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Runs after all earlier calls, as in a generator. */
  async #inOrder<Result>(act: () => Promise<Result>): Promise<Result> {
    this.#waiting += 1;
    const mine = this.#last.then(act);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #nextOfBlocks(): Promise<IteratorResult<string, undefined>> {
    while (this.#from >= this.#block.length) {
      const { value, done } = await this.#blocks.next();
      if (done) return ENDED;
      this.#block = value;
      this.#isAscii = isAscii(value);
      this.#text = '';
      this.#textFrom = 0;
      this.#from = 0;
      this.#start = this.#position.offset - value.length;
    }
    return { value: this.#take(), done: false };
  }

  #take(): string {
    const line = this.#isAscii ? this.#takeSlice() : this.#takeBytes();
    return this.#isUniversal ? this.#stripped(line) : line;
  }

  #stripped(line: string): string {
    const from = this.#isFirst && line.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
    this.#isFirst = false;
    return line.slice(from, line.endsWith('\r') ? -1 : undefined);
  }

  #takeSlice(): string {
    let from = this.#from - this.#textFrom;
    if (from >= this.#text.length) {
      this.#textFrom = this.#from;
      this.#text = this.#block.toString('latin1', this.#from, this.#endOfText());
      from = 0;
    }
    const found = this.#text.indexOf('\n', from);
    const end = found < 0 ? this.#text.length : found;
    this.#moveTo(this.#textFrom + end + 1);
    return this.#text.slice(from, end);
  }

  #takeBytes(): string {
    const block = this.#block;
    const from = this.#from;
    const found = block.indexOf(LINE_FEED, from);
    const end = found < 0 ? block.length : found;
    this.#moveTo(end + 1);
    return block.toString('utf8', from, end);
  }

  /** The end of the text after whole lines, at least one. */
  #endOfText(): number {
    const block = this.#block;
    const most = this.#from + TEXT_BYTES;
    if (most >= block.length) return block.length;
    const end = block.lastIndexOf(LINE_FEED, most - 1) + 1;
    return end > this.#from ? end : block.indexOf(LINE_FEED, most) + 1 || block.length;
  }

  #moveTo(next: number): void {
    this.#from = Math.min(next, this.#block.length);
    this.#position.offset = this.#start + this.#from;
  }
}
