import { isAscii } from 'node:buffer';

const LINE_FEED = 10;
const ENDED = { value: undefined, done: true } as const;

/** Where what was handed out last ends. */
export interface Place {
  offset: number;
}

/**
 * The lines of blocks that end with a line feed, all but the last one. `place` is behind each block when that comes, and behind each line when
 * that is handed out.
 *
 * Not an async generator, in which each line takes three turns of the queue of promises, and a half of the time: what is there already is
 * handed out at once. A block of ASCII becomes one string, of which lines are slices.
 */
export class Lines implements AsyncIterableIterator<string> {
  readonly #blocks: AsyncGenerator<Buffer>;
  readonly #place: Place;
  #block: Buffer = Buffer.alloc(0);
  /** The block as text, where its bytes are its characters. */
  #text: string | undefined;
  /** Where the next line begins, in the block and in the file. */
  #from = 0;
  #start = 0;
  /** Calls that wait, and the last of them. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blocks: AsyncGenerator<Buffer>, place: Place) {
    this.#blocks = blocks;
    this.#place = place;
  }

  next(): Promise<IteratorResult<string, undefined>> {
    if (this.#waiting === 0 && this.#from < this.#block.length) {
      return Promise.resolve({ value: this.#take(), done: false });
    }
    return this.#inTurn(() => this.#nextOfBlocks());
  }

  /** Ends the blocks; no line comes any more. */
  return(): Promise<IteratorResult<string, undefined>> {
    return this.#inTurn(async () => {
      this.#from = this.#block.length;
      await this.#blocks.return(undefined);
      return ENDED;
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Behind all calls before, as in a generator. */
  async #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
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
      this.#text = isAscii(value) ? value.toString('latin1') : undefined;
      this.#from = 0;
      this.#start = this.#place.offset - value.length;
    }
    return { value: this.#take(), done: false };
  }

  #take(): string {
    const { length } = this.#block;
    const from = this.#from;
    const found =
      this.#text === undefined ? this.#block.indexOf(LINE_FEED, from) : this.#text.indexOf('\n', from);
    const end = found < 0 ? length : found;
    this.#from = Math.min(end + 1, length);
    this.#place.offset = this.#start + this.#from;
    return this.#text === undefined ? this.#block.toString('utf8', from, end) : this.#text.slice(from, end);
  }
}
