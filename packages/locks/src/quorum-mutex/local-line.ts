import type { RedisClient } from '@mortise/redis';
import { perClient } from '../waiting/per-client.js';

/**
 * Those of one process that want the same lock, first come, first served. Only the first one stands for election: votes
 * split among fewer candidates, and those behind send nothing.
 */
export class LocalLine {
  static readonly #lines = perClient(() => new Map<string, LocalLine>());
  readonly #onEmpty: () => void;
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  private constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** The line for a lock, by its key, of the first of its clients. */
  static of(client: RedisClient, key: string): LocalLine {
    const lines = LocalLine.#lines(client);
    let line = lines.get(key);
    if (!line) {
      line = new LocalLine(() => lines.delete(key));
      lines.set(key, line);
    }
    return line;
  }

  /** Calls back when the caller is the first. Returns what ends that, or the wait for it. */
  enter(onTurn: () => void): () => void {
    let isIn = true;
    const begin = (): void => {
      this.#isTaken = true;
      onTurn();
    };
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      const place = this.#waiting.indexOf(begin);
      if (place >= 0) {
        this.#waiting.splice(place, 1);
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
