/**
 * Those who wait for one latch in one process: one place on its channel, and one look at its state for all of them. The
 * line subscribes, then looks: what happened before is seen by the look, what happens later is told. So who joins a
 * line that stands already sends nothing. Pub/sub is at-most-once, hence a further look each second.
 */
import type { Waiter, WaiterHub } from '@mortise/redis';
import { LatchLostError, LatchTimeoutError } from '../errors.js';
import { TIMED_OUT, within } from '../waiting/within.js';
import type { Latches, LatchTerms } from './latches.js';

/** Ends the wait of one caller; without an error, the latch is open. */
type Place = (error?: unknown) => void;

/** The time between two looks. */
const LOOK_MS = 1_000;
/** Keeps the looks of many processes apart. */
const JITTER_MS = 100;

let lines = 0;

export class LatchLine {
  readonly #terms: LatchTerms;
  readonly #latches: Latches;
  readonly #onEnd: () => void;
  readonly #places = new Set<Place>();
  #seat: Waiter | undefined;
  /** Of the latch that is waited for; '' until the first look is answered. */
  #epoch = '';
  #isOver = false;
  #isLooking = false;
  #isLookWanted = false;
  #failure: unknown;

  constructor(terms: LatchTerms, latches: Latches, hub: WaiterHub, onEnd: () => void) {
    this.#terms = terms;
    this.#latches = latches;
    this.#onEnd = onEnd;
    void this.#attend(hub);
  }

  /** Resolves when the latch is open. */
  async wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    let place!: Place;
    const end = new Promise<void>((resolve, reject) => {
      place = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
    this.#places.add(place);
    try {
      if ((await within(end, waitMs, signal)) === TIMED_OUT) throw this.#timeout(waitMs);
    } finally {
      this.#places.delete(place);
    }
  }

  /** The latch was reset. */
  lose(): void {
    this.#end(new LatchLostError(this.#terms.name));
  }

  async #attend(hub: WaiterHub): Promise<void> {
    lines += 1;
    try {
      this.#seat = await hub.waiter(this.#terms.keys.news, `line-${lines}`);
      if (this.#isOver) this.#seat.close();
      while (!this.#isOver) {
        void this.#look();
        const wake = await this.#seat.next({
          deadlineAt: performance.now() + LOOK_MS + Math.random() * JITTER_MS,
        });
        if (wake.type === 'message' && this.#isOpening(wake.body.toString())) this.#end();
        // Until then it stays for whoever comes next.
        if (wake.type === 'timeout' && this.#places.size === 0) this.#end();
      }
    } catch (error) {
      this.#end(error);
    }
  }

  /** A message is the epoch of the latch that has opened, or empty: it was reset. */
  #isOpening(message: string): boolean {
    return message !== '' && message === this.#epoch;
  }

  /** Not awaited by the line, which goes on listening: a command may hang for as long as its client lets it. */
  async #look(): Promise<void> {
    this.#isLookWanted = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#isLookWanted && !this.#isOver) {
      this.#isLookWanted = false;
      try {
        const state = await this.#latches.watch(this.#terms, this.#epoch);
        this.#failure = undefined;
        if (!state) this.lose();
        else if (state.remaining === 0) this.#end();
        else this.#epoch = state.epoch;
      } catch (error) {
        this.#failure = error;
        // Only who has seen the latch can trust that it will be told.
        if (this.#epoch === '') this.#end(error);
      }
    }
    this.#isLooking = false;
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
    this.#seat?.close();
    for (const place of this.#places) place(error);
  }

  #timeout(waitMs: number): LatchTimeoutError {
    const { name } = this.#terms;
    return new LatchTimeoutError(
      name,
      waitMs,
      this.#failure === undefined ? undefined : { cause: this.#failure },
    );
  }
}
