/**
 * The waiters of one latch in this process. They share a subscription and one check of the latch. It subscribes, then
 * checks: the check sees earlier count-downs, a message tells of later ones. So a further waiter sends nothing. Pub/sub is
 * at-most-once, hence one more check each second.
 *
 * Not a WaitQueue: a latch has no order, no leases and no grants, and one message ends all waits.
 */
import type { Waiter, WaiterHub } from '@mortise/redis';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { LatchLostError, LatchTimeoutError } from '../errors.js';
import type { CountDownLatchKeys } from '../keys.js';

/** One latch, with the count that its user knows. */
export interface LatchTerms {
  readonly name: string;
  readonly keys: CountDownLatchKeys;
  readonly count: number;
  readonly keepMs: number;
}

/** The epoch tells a latch from an earlier one of the same name. */
export interface LatchState {
  readonly epoch: string;
  readonly remaining: number;
}

/** The state of the latch of an epoch; null when it is gone. The epoch '' means any. */
type Watch = (epoch: string) => Promise<LatchState | null>;

/** Ends the wait of one caller; without an error, the latch is open. */
type EndWait = (error?: unknown) => void;

/** The time between two checks. */
const CHECK_MS = 1_000;
/** Spreads the checks of many processes. */
const JITTER_MS = 100;

export class LatchWaiters {
  readonly #terms: LatchTerms;
  readonly #watch: Watch;
  readonly #onEnd: () => void;
  readonly #waits = new Set<EndWait>();
  #inbox: Waiter | undefined;
  /** Of the latch that they wait for; '' until the reply of the first check. */
  #epoch = '';
  #isOver = false;
  #isChecking = false;
  #isCheckWanted = false;
  #failure: unknown;

  constructor(terms: LatchTerms, watch: Watch, hub: WaiterHub, onEnd: () => void) {
    this.#terms = terms;
    this.#watch = watch;
    this.#onEnd = onEnd;
    void this.#listen(hub);
  }

  /** Resolves when the latch is open. */
  async wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    let endWait!: EndWait;
    const end = new Promise<void>((resolve, reject) => {
      endWait = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
    this.#waits.add(endWait);
    try {
      if ((await waitFor(end, { waitMs, signal })) === TIMED_OUT) throw this.#timeout(waitMs);
    } finally {
      this.#waits.delete(endWait);
    }
  }

  /** Ends all waits with LatchLostError. */
  lose(): void {
    this.#end(new LatchLostError(this.#terms.name));
  }

  async #listen(hub: WaiterHub): Promise<void> {
    try {
      this.#inbox = await hub.waiter(this.#terms.keys.updates, hub.newId());
      if (this.#isOver) this.#inbox.close();
      while (!this.#isOver) {
        void this.#check();
        const wake = await this.#inbox.next({
          deadlineAt: performance.now() + CHECK_MS + Math.random() * JITTER_MS,
        });
        if (wake.type === 'message' && this.#isOpening(wake.body.toString())) this.#end();
        // It stays subscribed until the next check, for the next waiter.
        if (wake.type === 'timeout' && this.#waits.size === 0) this.#end();
      }
    } catch (error) {
      this.#end(error);
    }
  }

  /** A message is the epoch of the latch that has opened, or empty after a reset. */
  #isOpening(message: string): boolean {
    return message !== '' && message === this.#epoch;
  }

  /** Runs beside `#listen`, which goes on listening: a command may hang as long as its client permits. */
  async #check(): Promise<void> {
    this.#isCheckWanted = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    while (this.#isCheckWanted && !this.#isOver) {
      this.#isCheckWanted = false;
      try {
        const state = await this.#watch(this.#epoch);
        this.#failure = undefined;
        if (!state) this.lose();
        else if (state.remaining === 0) this.#end();
        else this.#epoch = state.epoch;
      } catch (error) {
        this.#failure = error;
        // Without a first reply, a message cannot be matched to an epoch.
        if (this.#epoch === '') this.#end(error);
      }
    }
    this.#isChecking = false;
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
    this.#inbox?.close();
    for (const endWait of this.#waits) endWait(error);
  }

  #timeout(waitMs: number): LatchTimeoutError {
    const options = this.#failure === undefined ? undefined : { cause: this.#failure };
    return new LatchTimeoutError(this.#terms.name, waitMs, options);
  }
}
