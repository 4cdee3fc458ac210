import type { Readable, Writable } from 'node:stream';

/** The fate of bytes that arrive: they go on, are lost, or wait until they may go on. */
export type LaneMode = 'pass' | 'drop' | 'hold';

interface Parcel {
  /** `undefined` is the end of the stream. */
  bytes: Buffer | undefined;
  dueAt: number;
}

/**
 * One direction of a connection through the proxy. A queue that only its head leaves keeps the order, whatever the delay is
 * changed to meanwhile; one timer stands for the head. It has no limit: a test decides how much it sends.
 */
export class Lane {
  delayMs = 0;
  #mode: LaneMode = 'pass';
  readonly #to: Writable;
  #queue: Parcel[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Readable, to: Writable) {
    this.#to = to;
    from.on('data', (bytes: Buffer) => this.#arrived(bytes));
    from.on('end', () => this.#arrived(undefined));
  }

  set mode(mode: LaneMode) {
    this.#mode = mode;
    this.#depart();
  }

  /** Lets all that waits for its time go at once. */
  hurry(): void {
    for (const parcel of this.#queue) parcel.dueAt = 0;
    this.#depart();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue = [];
  }

  #arrived(bytes: Buffer | undefined): void {
    if (this.#mode === 'drop' && bytes !== undefined) return;
    this.#queue.push({ bytes, dueAt: performance.now() + this.delayMs });
    this.#depart();
  }

  #depart(): void {
    clearTimeout(this.#timer);
    if (this.#mode === 'hold') return;
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      const remainingMs = head.dueAt - performance.now();
      if (remainingMs > 0) {
        this.#timer = setTimeout(() => this.#depart(), Math.ceil(remainingMs));
        return;
      }
      this.#queue.shift();
      if (head.bytes === undefined) this.#to.end();
      else if (this.#to.writable) this.#to.write(head.bytes);
    }
  }
}
