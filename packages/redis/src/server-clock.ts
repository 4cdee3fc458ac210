/**
 * A process's estimate of a server's clock, from the times in replies. Instants of the server are compared only with
 * instants of the server, so wrong clocks of processes do no harm. The process's own clock is `performance.now()`, which
 * nobody can set.
 *
 * The server reads its clock between the sending of a command and the arrival of the reply. So each reply limits the
 * difference of the two clocks from below and above. The narrowest limits count. A reply outside of them (the clock was
 * set, or a failover brought another server) replaces them at once.
 */

/** A clock under correction gains or loses up to this, ms per ms. */
const MAX_DRIFT = 0.0005;

export class ServerClock {
  /** The estimate of the server's clock minus `performance.now()`. */
  #offset: number | undefined;
  /** Its upper bound, at `#boundAt`. */
  #offsetBound = Infinity;
  #boundAt = 0;

  /** Whether a reply has contained the server's time. */
  get isKnown(): boolean {
    return this.#offset !== undefined;
  }

  /** The instant at which a reply last contained the time, by `performance.now()`. */
  get learnedAt(): number {
    return this.isKnown ? this.#boundAt : -Infinity;
  }

  /** The estimate in whole ms since the epoch; 0 if unknown. */
  now(): number {
    return this.#offset === undefined ? 0 : Math.floor(performance.now() + this.#offset);
  }

  /**
   * The latest possible server time, ms since the epoch with fractions. A delay counted from it is never too short. The value
   * is ahead of the server by less than a round trip. `Infinity` if unknown.
   */
  latest(): number {
    return performance.now() + this.#bound();
  }

  /** The earliest instant, by `performance.now()`, at which the server's clock may show `serverMs`. */
  earliestLocal(serverMs: number): number {
    return serverMs - this.#bound();
  }

  /**
   * Learns from a reply that has just arrived. `sentAt`: when the command was sent, by `performance.now()`. `stepMs`: what
   * `serverMs` is rounded down to.
   */
  learn(sentAt: number, serverMs: number, stepMs = 1): void {
    const now = performance.now();
    const least = serverMs - now;
    const most = serverMs + stepMs - sentAt;
    this.#offset = Math.min(most, Math.max(least, this.#offset ?? (least + most) / 2));
    const bound = this.#bound();
    this.#offsetBound = bound < least ? most : Math.min(most, bound);
    this.#boundAt = now;
  }

  /** Forgets the estimate, since another server may reply next. */
  forget(): void {
    this.#offset = undefined;
    this.#offsetBound = Infinity;
  }

  #bound(): number {
    return this.#offsetBound + MAX_DRIFT * (performance.now() - this.#boundAt);
  }
}
