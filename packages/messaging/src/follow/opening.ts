import type { Seat } from './seat.js';

/** Tells when a follower is at work: its index was read, and of each chat in it something is known. */
export class Opening {
  /** Of which nothing is known; undefined before there are any. */
  #seats: Set<Seat> | undefined;
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  get isDone(): boolean {
    return this.#seats?.size === 0;
  }

  wait(): Promise<void> {
    if (this.isDone) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** These are waited for. */
  begin(seats: Iterable<Seat>): void {
    this.#seats = new Set(seats);
    this.#check();
  }

  onPlaced(seat: Seat): void {
    if (this.#seats?.delete(seat)) this.#check();
  }

  /** The follower has ended. */
  end(failure: { readonly error: unknown } | undefined): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (failure) reject(failure.error);
      else resolve();
    }
  }

  #check(): void {
    if (this.isDone) this.end(undefined);
  }
}
