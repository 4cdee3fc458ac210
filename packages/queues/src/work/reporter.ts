import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, describeError } from '@mortise/redis';

/** A failure that goes on is told again after so long. */
const REPEAT_MS = 60_000;
const MAX_REMEMBERED = 100;

/** Hands to `onError` what goes wrong outside of handlers, and survives what that does. */
export class Reporter {
  readonly #redis: RedisClient;
  readonly #onError: (error: unknown) => unknown;
  /** When each failure was told last, by the first line of its text. */
  readonly #toldAt = new Map<string, number>();

  constructor(redis: RedisClient, onError: (error: unknown) => unknown) {
    this.#redis = redis;
    this.#onError = onError;
  }

  /** Something that happened once. */
  tell(error: unknown): void {
    void this.#hand(error);
  }

  /** A call that failed and will be made again. The same failure is told once a minute. */
  tellFailure(error: unknown): void {
    // Every call fails in its own way then, for ever or until the owner connects the client again.
    const cause = this.#redis.status === 'end' ? new ClientClosedError() : error;
    const text = describeError(cause).split('\n', 1)[0]!;
    const now = performance.now();
    if (now - (this.#toldAt.get(text) ?? -Infinity) < REPEAT_MS) return;
    if (this.#toldAt.size >= MAX_REMEMBERED) this.#toldAt.clear();
    this.#toldAt.set(text, now);
    this.tell(cause);
  }

  async #hand(error: unknown): Promise<void> {
    try {
      // An async function fits the type of onError, too.
      await this.#onError(error);
    } catch (thrown) {
      console.error('mortise worker: onError threw', thrown);
    }
  }
}
