/**
 * The server's clock as seen by this process. Entries contain instants of the server's clock, so wrong clocks of
 * processes don't matter. The time in a reply is compared with the moment at which the command was sent: the
 * estimate is never behind the server, so nothing expired counts as fresh. It is ahead by less than a round trip.
 */

/** The next reader renews an older estimate in the background. Quartz drifts by 1 ms in this time. */
const RENEW_MS = 10_000;

export class ServerClock {
  #offsetMs = Number.NaN;
  #updatedAt = -Infinity;

  /** @param sentAt When the command was sent, an instant of `performance.now()`. */
  update(serverMs: number, sentAt: number): void {
    this.#offsetMs = serverMs - sentAt;
    this.#updatedAt = sentAt;
  }

  /** The server may be another one now. */
  forget(): void {
    this.#offsetMs = Number.NaN;
    this.#updatedAt = -Infinity;
  }

  get isKnown(): boolean {
    return !Number.isNaN(this.#offsetMs);
  }

  get isDue(): boolean {
    return performance.now() - this.#updatedAt > RENEW_MS;
  }

  /** The server's time. */
  now(): number {
    return performance.now() + this.#offsetMs;
  }

  /** Converts an instant of the server to the clock of `performance.now()`. */
  local(serverMs: number): number {
    return serverMs - this.#offsetMs;
  }
}
