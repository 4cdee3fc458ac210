import type { RedisClient } from './client.js';
import { isClosed } from './closure.js';
import { ClientClosedError } from './coded-error.js';
import { describeError } from './describe-error.js';
import { requireFunction } from './require.js';

/** The same failure is reported again after this time. */
const REPEAT_MS = 60_000;
const MAX_REMEMBERED = 100;

/** The option `onError` of background work. The function may be async. */
export type OnError = (error: unknown) => unknown;

/** Passes errors of background work to `onError`, and survives an `onError` that throws or rejects. */
export class ErrorReporter {
  readonly #name: string;
  readonly #onError: OnError;
  readonly #client: RedisClient | undefined;
  /** When each failure was reported last, by the first line of its text. */
  readonly #reportedAt = new Map<string, number>();

  /**
   * @param name The beginning of the line on stderr, the default of `onError`: `mortise worker`.
   * @param client While this client is closed, all failures are reported as one ClientClosedError.
   */
  constructor(name: string, onError?: OnError, client?: RedisClient) {
    this.#name = name;
    this.#onError = requireFunction(
      'onError',
      onError ?? ((error: unknown) => console.error(`${name}:`, error)),
    );
    this.#client = client;
  }

  /** Reports an error that is not repeated. */
  report(error: unknown): void {
    void this.#call(error);
  }

  /**
   * Reports the failure of a call that will be repeated. The same failure is reported once a minute.
   *
   * @param sameAs A text that is equal for equal failures; a failure with it is never one of the client. Default: the first
   *   line of the error's text.
   */
  reportRepeated(error: unknown, sameAs?: string): void {
    const isOfClosed = sameAs === undefined && this.#client && isClosed(this.#client);
    const failure = isOfClosed ? new ClientClosedError() : error;
    const text = sameAs ?? describeError(failure).split('\n', 1)[0]!;
    const now = performance.now();
    if (now - (this.#reportedAt.get(text) ?? -Infinity) < REPEAT_MS) return;
    if (this.#reportedAt.size >= MAX_REMEMBERED) this.#reportedAt.clear();
    this.#reportedAt.set(text, now);
    this.report(failure);
  }

  async #call(error: unknown): Promise<void> {
    try {
      await this.#onError(error);
    } catch (thrown) {
      console.error(`${this.#name}: onError threw`, thrown);
    }
  }
}
