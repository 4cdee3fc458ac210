/**
 * When an idle fetcher makes its next call by itself, and which calls look for the next due time.
 *
 *   off ──a reply with free slots──► set ──fires, or the fetcher pauses or leaves──► off
 *
 *   off   The fetcher makes a call only for another reason.
 *   set   The timer fires when something is due, or when the reply says so, since a wake-up may be lost.
 *
 * A look costs the server several commands, so calls look once a second. The call that the timer makes always looks.
 */

import { NOT_LOOKED } from './fetch-and-ack.js';

const LOOK_MS = 1_000;
/** Before the server forgets an idle worker. */
const MAX_SLEEP_MS = 20_000;
export class Recheck {
  readonly #recheckMs: number;
  readonly #onDue: () => void;
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = -Infinity;

  constructor(recheckMs: number, onDue: () => void) {
    this.#recheckMs = recheckMs;
    this.#onDue = onDue;
  }

  /** Whether the call that is sent now looks. */
  takeLook(): boolean {
    const now = performance.now();
    const isDue = now - this.#lookedAt >= LOOK_MS;
    if (isDue) this.#lookedAt = now;
    return isDue;
  }

  /** The next call looks. */
  lookNext(): void {
    this.#lookedAt = -Infinity;
  }

  /** Sets the timer. `sleepMs` as in `FetchReply`; jitter keeps workers from calling at the same moment. */
  set(sleepMs: number): void {
    // The script did not look, so the timer of the last look stays.
    if (sleepMs === 0 || (sleepMs === NOT_LOOKED && this.#timer)) return;
    const longestMs = sleepMs > 0 ? MAX_SLEEP_MS : sleepMs < NOT_LOOKED ? -sleepMs : this.#recheckMs;
    const recheckMs = longestMs * (0.75 + 0.25 * Math.random());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.lookNext();
        this.#onDue();
      },
      sleepMs > 0 ? Math.min(sleepMs, recheckMs) : recheckMs,
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
