import { isDeleted } from '../log/entry.js';

/**
 * The bytes of entries that one reply may still have. The first message of the reply fits, whatever its size; from the first one
 * on that doesn't, all are left where they are.
 */
export class ByteBudget {
  #left: number;
  #isUntouched = true;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** 0 when something had to be left. */
  get left(): number {
    return this.#left;
  }

  /** Spends on those of the entries, from the first one on, that fit. The places of deleted messages are free. O(characters). */
  take(entries: readonly string[]): readonly string[] {
    for (const [index, entry] of entries.entries()) {
      if (isDeleted(entry)) continue;
      const bytes = Buffer.byteLength(entry);
      if (bytes > this.#left && !this.#isUntouched) {
        this.#left = 0;
        return entries.slice(0, index);
      }
      this.#left = Math.max(0, this.#left - bytes);
      this.#isUntouched = false;
    }
    return entries;
  }
}
