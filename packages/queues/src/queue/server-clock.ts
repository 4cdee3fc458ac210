/**
 * What time it is on a server, from the times that its replies tell: an instant in a reply lies between sending and
 * receiving, so each reply says between which bounds the difference of the two clocks lies. The narrowest bounds win; a
 * server whose clock was set, or another one after a failover, falls out of them and is followed at once. The own clock
 * is the monotonic one, so nobody can set it.
 */
export class ServerClock {
  #ahead: number | undefined;

  /** ms since the epoch; 0 while it is not known. */
  now(): number {
    return this.#ahead === undefined ? 0 : Math.floor(performance.now() + this.#ahead);
  }

  /** A call that was made at `sentAt` (`performance.now()`) has told the server's time, in whole ms. */
  learn(sentAt: number, serverMs: number): void {
    const least = serverMs - performance.now();
    const most = serverMs + 1 - sentAt;
    this.#ahead = Math.min(most, Math.max(least, this.#ahead ?? (least + most) / 2));
  }
}
