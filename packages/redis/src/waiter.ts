/**
 * Waits for messages on a channel. It keeps messages that arrive between two calls of `next`, so a wake-up that overtakes
 * its reply is not lost.
 */
import { ArgumentRangeError, ArgumentTypeError } from './argument-error.js';
import { ClientClosedError } from './coded-error.js';
import { WakeUp } from './wake-up.js';

/** The end of a wait. `resync`: messages may be lost, so read the state in Redis again. */
export type Wake =
  | { readonly type: 'message'; readonly body: Buffer }
  | { readonly type: 'resync' }
  | { readonly type: 'timeout' };

export interface WaitOptions {
  /** An instant on the clock of `performance.now()`. Default: no deadline. */
  readonly deadlineAt?: number | undefined;
  /** Aborts the wait: `next` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum of kept messages; more become one `resync`. */
const MAX_KEPT = 1_000;

const RESYNC: Wake = { type: 'resync' };
const TIMEOUT: Wake = { type: 'timeout' };

/** A waiter on a channel, from `WaiterHub.waiter`. */
export class Waiter implements Disposable {
  #kept: Wake[] = [];
  #isClosed = false;
  /** The error of `fail`. */
  #failure: Error | undefined;
  readonly #arrival = new WakeUp();

  constructor(
    readonly channel: string,
    /** A message `<id>:<body>` is for this waiter alone, a message `*:<body>` for all waiters of the channel. */
    readonly id: string,
    readonly onClose: (waiter: Waiter) => void,
  ) {}

  /**
   * Resolves to the next message, `resync` or `timeout`, whichever comes first. One call at a time. Rejects with the reason of
   * an aborted signal, with ERR_CLIENT_CLOSED when the client was closed, and with TypeError after `close`. A message that has
   * arrived wins over a deadline that has passed and over an aborted signal.
   */
  next({ deadlineAt = Infinity, signal }: WaitOptions = {}): Promise<Wake> {
    // Made here, not by `close`: an error with its stack was 3 % of a hand-off of a lock.
    if (this.#isClosed) return Promise.reject(this.#failure ?? new ArgumentTypeError('the waiter is closed'));
    const kept = this.#kept.shift();
    if (kept) {
      this.#arrival.reset();
      return Promise.resolve(kept);
    }
    if (Number.isNaN(deadlineAt))
      return Promise.reject(new ArgumentRangeError('deadlineAt must be an instant in ms, got NaN'));
    const ms = deadlineAt === Infinity ? deadlineAt : deadlineAt - performance.now();
    return this.#arrival.wait(ms, signal).then(() => this.#kept.shift() ?? TIMEOUT);
  }

  /** Called by the hub. */
  deliver(body: Buffer): void {
    this.#give({ type: 'message', body });
  }

  /** Called by the hub when messages may be lost. */
  resync(): void {
    if (this.#kept.at(-1) !== RESYNC) this.#give(RESYNC);
  }

  /** Called by the hub when no further message can come. */
  fail(error: Error = new ClientClosedError()): void {
    if (this.#isClosed) return;
    this.#failure ??= error;
    this.#arrival.close(error);
  }

  /** Leaves the channel and drops the kept messages. A `next` that still waits ends with `timeout`. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#arrival.close();
    this.onClose(this);
  }

  /** `using waiter = await hub.waiter(…)` closes it at the end of the block. */
  [Symbol.dispose](): void {
    this.close();
  }

  #give(wake: Wake): void {
    if (this.#kept.length < MAX_KEPT) this.#kept.push(wake);
    else this.#kept = [RESYNC];
    this.#arrival.wake();
  }
}
