/**
 * The wait of a fetcher after failed calls, which doubles with each.
 *
 *   none ──a call fails──► waiting ──its time is over, or the fetcher leaves──► none
 */
import { backoffDelayMs } from '@mortise/redis';

const BACKOFF = { type: 'exponential', delayMs: 100, maxDelayMs: 5_000, jitter: 1 } as const;
/** A stopping worker has little time. */
const MAX_LEAVING_DELAY_MS = 200;
const MIN_DELAY_MS = 10;

export class FetchBackoff {
  readonly #onEnd: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onEnd Called when a wait is over, not when `clear` ends it. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** The next wait is the shortest. */
  replied(): void {
    this.#failures = 0;
  }

  failed(isLeaving: boolean): void {
    this.#failures += 1;
    const maxDelayMs = isLeaving ? MAX_LEAVING_DELAY_MS : BACKOFF.maxDelayMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#onEnd();
      },
      Math.max(MIN_DELAY_MS, backoffDelayMs({ ...BACKOFF, maxDelayMs }, this.#failures)),
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
