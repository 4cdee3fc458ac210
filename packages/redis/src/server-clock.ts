/**
 * The clock of a server, as a process knows it from the times in its replies. Instants of the server are compared with
 * instants of the server, so wrong clocks of processes do no harm. The process's own clock is `performance.now()`, which
 * nobody can set.
 *
 * The server read its clock between the sending of a command and the arrival of the reply. So each reply bounds the difference
 * of the two clocks from below and from above. The narrowest bounds count. A reply outside of them (the clock was set, or a
 * failover brought another server) replaces them at once.
 */

/** A clock that is being corrected gains or loses up to this, in ms for each ms. */
const MAX_DRIFT = 0.0005;

export class ServerClock {
  /** The best guess of the server's clock minus `performance.now()`. */
  #offset: number | undefined;
  /** The upper bound of it, at `#boundAt`. */
  #offsetBound = Infinity;
  #boundAt = 0;

  /** Whether a reply has told the server's time. */
  get isKnown(): boolean {
    return this.#offset !== undefined;
  }

  /** When a reply told the time last, on the clock of `performance.now()`. */
  get learnedAt(): number {
    return this.isKnown ? this.#boundAt : -Infinity;
  }

  /** The best guess in whole ms since the epoch; 0 while it is not known. */
  now(): number {
    return this.#offset === undefined ? 0 : Math.floor(performance.now() + this.#offset);
  }

  /**
   * The latest that the server's time can be, in ms since the epoch with fractions: a delay counted from here is never too
   * short. It is ahead by less than a round trip. `Infinity` while the time is not known.
   */
  latest(): number {
    return performance.now() + this.#bound();
  }

  /** The earliest instant, on the clock of `performance.now()`, at which the server's clock may show `serverMs`. */
  earliestLocal(serverMs: number): number {
    return serverMs - this.#bound();
  }

  /** Learns from a reply that has just arrived: the command was sent at `sentAt` (`performance.now()`), the time is in ms. */
  learn(sentAt: number, serverMs: number): void {
    const now = performance.now();
    const least = serverMs - now;
    const most = serverMs + 1 - sentAt;
    this.#offset = Math.min(most, Math.max(least, this.#offset ?? (least + most) / 2));
    const bound = this.#bound();
    this.#offsetBound = bound < least ? most : Math.min(most, bound);
    this.#boundAt = now;
  }

  /** Forgets the time: another server may reply now. */
  forget(): void {
    this.#offset = undefined;
    this.#offsetBound = Infinity;
  }

  #bound(): number {
    return this.#offsetBound + MAX_DRIFT * (performance.now() - this.#boundAt);
  }
}
