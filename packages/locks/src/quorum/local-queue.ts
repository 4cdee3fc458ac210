import type { RedisClient } from '@mortise/redis';
import { perClient } from '@mortise/redis';

/**
 * The callers of one process that want the same lock, first come, first served. Only the first one requests votes: they are
 * split among fewer candidates, and the others send nothing.
 */
export class LocalQueue {
  static readonly #queues = /* @__PURE__ */ perClient(() => new Map<string, LocalQueue>());
  readonly #onEmpty: () => void;
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  private constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** The queue of a lock, found by its key and the first of its clients. */
  static of(client: RedisClient, key: string): LocalQueue {
    const queues = LocalQueue.#queues(client);
    let queue = queues.get(key);
    if (!queue) {
      queue = new LocalQueue(() => queues.delete(key));
      queues.set(key, queue);
    }
    return queue;
  }

  /** Calls back when the caller is the first. Returns a function that leaves the queue. */
  enter(onFirst: () => void): () => void {
    let isIn = true;
    const begin = (): void => {
      this.#isTaken = true;
      onFirst();
    };
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      const index = this.#waiting.indexOf(begin);
      if (index >= 0) {
        this.#waiting.splice(index, 1);
        return;
      }
      const next = this.#waiting.shift();
      if (next) {
        next();
      } else {
        this.#isTaken = false;
        this.#onEmpty();
      }
    };
    if (this.#isTaken) this.#waiting.push(begin);
    else begin();
    return leave;
  }
}
