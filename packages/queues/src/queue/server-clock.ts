/**
 * What time it is on a server, from the times that its replies tell: an instant in a reply lies between sending and
 * receiving, so each reply says between which bounds the difference of the two clocks lies. The narrowest bounds win; a
 * server whose clock was set, or another one after a failover, falls out of them and is followed at once. The own clock
 * is the monotonic one, so nobody can set it.
 *
 * `now` is the best guess, `latest` what it is at most: a delay that is counted from there is never too short, while the
 * guess of a client whose first reply was held up is off by half of that time.
 */
/** Clocks that are being set right gain or lose up to this, ms for each ms. */
const MOST_DRIFT = 0.0005;

export class ServerClock {
  #ahead: number | undefined;
  #most = Infinity;
  /** When `#most` was right (`performance.now()`). */
  #mostAt = 0;

  /** ms since the epoch; 0 while it is not known. */
  now(): number {
    return this.#ahead === undefined ? 0 : Math.floor(performance.now() + this.#ahead);
  }

  /** ms since the epoch, with fractions; `Infinity` while it is not known. */
  latest(): number {
    return performance.now() + this.#mostNow();
  }

  /** A call that was made at `sentAt` (`performance.now()`) has told the server's time, in whole ms. */
  learn(sentAt: number, serverMs: number): void {
    const least = serverMs - performance.now();
    const most = serverMs + 1 - sentAt;
    this.#ahead = Math.min(most, Math.max(least, this.#ahead ?? (least + most) / 2));
    const before = this.#mostNow();
    this.#most = before < least ? most : Math.min(most, before);
    this.#mostAt = performance.now();
  }

  #mostNow(): number {
    return this.#most + MOST_DRIFT * (performance.now() - this.#mostAt);
  }
}
