import { isAscii } from 'node:buffer';

const LINE_FEED = 10;
/** The most bytes of other lines that a kept line keeps in memory. */
const TEXT_BYTES = 1_024;
const ENDED = { value: undefined, done: true } as const;

/** The offset after the last line that was handed out. */
export interface LinePosition {
  offset: number;
}

/**
 * The lines of blocks that end with a line feed, except for the last one. The offset of `position` is after each block when that comes, and
 * after each line when that is handed out.
 *
 * This is not an async generator, in which each line takes three rounds of the queue of promises, and half of the time: lines that are there
 * are handed out at once. Lines of ASCII are slices of a text of several lines, which takes a third of the time of a string each. Such a text
 * lives as long as any slice of it, so it is short.
 */
export class LineReader implements AsyncIterableIterator<string> {
  readonly #blocks: AsyncGenerator<Buffer>;
  readonly #position: LinePosition;
  #block: Buffer = Buffer.alloc(0);
  #isAscii = true;
  /** Lines of the block, where it is ASCII, and where they begin in it. */
  #text = '';
  #textFrom = 0;
  /** The beginning of the next line in the block, and of the block in the file. */
  #from = 0;
  #start = 0;
  /** Calls that wait, and the last of them. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blocks: AsyncGenerator<Buffer>, position: LinePosition) {
    this.#blocks = blocks;
    this.#position = position;
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

  /** After all calls before, as in a generator. */
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
    return this.#isAscii ? this.#takeSlice() : this.#takeBytes();
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

  /** After whole lines, at least one. */
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
