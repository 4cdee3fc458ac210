import type { Logger } from 'pino';

/** The same error again within this time is counted, not logged. */
const QUIET_MS = 60_000;

/** Logs errors in the background; a repeated error is one line a minute, with a count. */
export class ErrorLog {
  readonly #log: Logger;
  readonly #now: () => number;
  #last = '';
  #lastAt = 0;
  #repeats = 0;

  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  add(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.#last && this.#now() - this.#lastAt < QUIET_MS) {
      this.#repeats += 1;
      return;
    }
    this.#log.error({ err: error, ...(this.#repeats > 0 && { repeatsOfLast: this.#repeats }) }, reason);
    this.#last = reason;
    this.#lastAt = this.#now();
    this.#repeats = 0;
  }
}
