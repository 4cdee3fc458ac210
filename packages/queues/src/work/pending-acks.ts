/** What has ended and the server has not heard of yet. */

/** Tasks and acks in one call: bounds how long it holds the server (about 3 ms). */
const MAX_BATCH = 500;
/** A call ends with the result that makes it longer than this. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** From so many on, acks go half and half into two calls, so that the one is under way while the other runs. */
const MIN_SPLIT = 32;

export interface PendingAck {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  /** The server's refusal tells something new: it is not a repetition, and the loss was not known before. */
  isFirst: boolean;
}

export class PendingAcks {
  #waiting: PendingAck[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(completion: PendingAck): void {
    this.#waiting.push(completion);
  }

  /**
   * The acks of the next call, and how many tasks it may take.
   *
   * @param mayBeSplit No call is under way: half of them may go with another one.
   */
  take(mayBeSplit: boolean): { acks: PendingAck[]; most: number } {
    const waiting = this.#waiting.length;
    const isSplit = mayBeSplit && waiting >= MIN_SPLIT;
    const most = Math.min(MAX_BATCH, isSplit ? Math.ceil(waiting / 2) : waiting);
    let count = 0;
    for (let bytes = 0; count < most && bytes < MAX_BATCH_BYTES; count += 1) {
      bytes += this.#waiting[count]!.encoded.length;
    }
    return { acks: this.#waiting.splice(0, count), most: isSplit ? count : MAX_BATCH };
  }

  /** The call has failed. Settling twice is harmless: the second time the token no longer fits. */
  putBack(acks: readonly PendingAck[]): void {
    for (const completion of acks) completion.isFirst = false;
    this.#waiting.unshift(...acks);
  }
}
