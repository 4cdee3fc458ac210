/**
 * The clock of a server as a process sees it. Entries carry instants of the server's clock, so that the clocks of
 * processes, which may be wrong, don't matter. What a reply says is compared with the moment at which the command was sent:
 * the estimate is never behind the server, so nothing is taken for fresh that is not; it is ahead by less than a round trip.
 */

/** An estimate that is older is renewed by whoever reads next, who doesn't wait for that. Quartz drifts by 1 ms in that time. */
const RENEW_MS = 10_000;

export class ServerClock {
  #offsetMs = Number.NaN;
  #heardAt = -Infinity;

  /** @param sentAt Of the command, an instant of `performance.now()`. */
  heard(serverMs: number, sentAt: number): void {
    this.#offsetMs = serverMs - sentAt;
    this.#heardAt = sentAt;
  }

  /** The server may be another one now. */
  forget(): void {
    this.#offsetMs = Number.NaN;
    this.#heardAt = -Infinity;
  }

  get isKnown(): boolean {
    return !Number.isNaN(this.#offsetMs);
  }

  get isDue(): boolean {
    return performance.now() - this.#heardAt > RENEW_MS;
  }

  /** The server's time. */
  now(): number {
    return performance.now() + this.#offsetMs;
  }

  /** An instant of the server on the clock of `performance.now()`. */
  local(serverMs: number): number {
    return serverMs - this.#offsetMs;
  }
}
