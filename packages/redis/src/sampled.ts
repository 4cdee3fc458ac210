/**
 * A value that many followers watch: one reader for all of them, which reads while somebody follows. A follower that is slow gets the
 * last value, never those between.
 */
import { onAbort } from './on-abort.js';
import { WakeUp } from './wake-up.js';

interface Follower<Value> {
  readonly wakeUp: WakeUp;
  /** The value that it has not seen yet. */
  next: Value | undefined;
}

export class Sampled<Value> {
  readonly #read: () => Promise<Value>;
  readonly #everyMs: number;
  readonly #isSame: (a: Value, b: Value) => boolean;
  readonly #followers = new Set<Follower<Value>>();
  #last: Value | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;

  /** @param isSame A value that is the same as the last one is not sent. */
  constructor(read: () => Promise<Value>, everyMs: number, isSame: (a: Value, b: Value) => boolean) {
    this.#read = read;
    this.#everyMs = everyMs;
    this.#isSame = isSame;
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  /** Yields the present value, and then each change until the signal is aborted. Reads that fail are skipped. */
  follow(signal: AbortSignal): AsyncIterable<Value> {
    const follower: Follower<Value> = { wakeUp: new WakeUp(), next: this.#last };
    const end = (): void => {
      this.#followers.delete(follower);
      follower.wakeUp.close();
      if (this.#followers.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#last = undefined;
    };
    if (!signal.aborted) {
      this.#followers.add(follower);
      // Also when nobody reads any value.
      onAbort(signal, end);
      // The read that goes on schedules the next one.
      if (!this.#timer && !this.#isReading) this.#schedule(0);
    }
    return (async function* values(): AsyncGenerator<Value, void> {
      while (!signal.aborted) {
        const { next } = follower;
        follower.next = undefined;
        if (next !== undefined) yield next;
        else await follower.wakeUp.wait();
      }
    })();
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => void this.#step(), ms);
  }

  async #step(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    try {
      this.#tell(await this.#read());
    } catch {
      // Redis is not there: the next read tells how things are then.
    }
    this.#isReading = false;
    if (this.isFollowed) this.#schedule(this.#everyMs);
  }

  #tell(value: Value): void {
    if (!this.isFollowed) return;
    if (this.#last !== undefined && this.#isSame(this.#last, value)) return;
    this.#last = value;
    for (const follower of this.#followers) {
      follower.next = value;
      follower.wakeUp.wake();
    }
  }
}
