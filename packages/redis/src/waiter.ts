/**
 * Waits for messages on a channel. It keeps messages that arrive between two calls of `next`, so a wake-up that overtakes
 * its reply is not lost.
 */
import { ClientClosedError } from './coded-error.js';
import { onAbort } from './on-abort.js';

/** The end of a wait. `resync`: messages may be lost; read the state in Redis again. */
export type Wake =
  | { readonly type: 'message'; readonly body: Buffer }
  | { readonly type: 'resync' }
  | { readonly type: 'timeout' };

export interface WaitOptions {
  /** An instant on the clock of `performance.now()`. Default: no deadline. */
  readonly deadlineAt?: number;
  /** Aborts the wait: `next` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Maximum of kept messages; more become one `resync`. */
const MAX_KEPT = 1_000;
/** The longest delay of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const RESYNC: Wake = { type: 'resync' };
const TIMEOUT: Wake = { type: 'timeout' };

/** A waiter on a channel, from `WaiterHub.waiter`. */
export class Waiter implements Disposable {
  #kept: Wake[] = [];
  #listener: ((wake: Wake | Error) => void) | undefined;
  #closedBy: Error | undefined;

  constructor(
    readonly channel: string,
    /** A message `<id>:<body>` is for this waiter alone, a message `*:<body>` for all waiters of the channel. */
    readonly id: string,
    readonly onClose: (waiter: Waiter) => void,
  ) {}

  /**
   * The next message, `resync` or `timeout`, whichever comes first. One call at a time. Rejects with the reason of
   * an aborted signal, with ERR_CLIENT_CLOSED when the client was closed, and with TypeError after `close`. A message
   * that has arrived wins over a deadline that has passed and over an aborted signal.
   */
  next({ deadlineAt = Infinity, signal }: WaitOptions = {}): Promise<Wake> {
    const kept = this.#kept.shift();
    if (kept) return Promise.resolve(kept);
    if (this.#closedBy) return Promise.reject(this.#closedBy);
    if (this.#listener) return Promise.reject(new TypeError('next() is already waiting on this waiter'));
    if (Number.isNaN(deadlineAt))
      return Promise.reject(new RangeError('deadlineAt must be an instant in ms, got NaN'));
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        clearTimeout(timer);
        unlisten?.();
        this.#listener = undefined;
      };
      const arm = (): void => {
        const left = deadlineAt - performance.now();
        if (left <= 0) this.#listener?.(TIMEOUT);
        else timer = setTimeout(arm, Math.min(Math.ceil(left), MAX_TIMER_MS));
      };
      this.#listener = (wake) => {
        end();
        if (wake instanceof Error) reject(wake);
        else resolve(wake);
      };
      const unlisten =
        signal &&
        onAbort(signal, () => {
          end();
          reject(signal.reason as Error);
        });
      if (deadlineAt !== Infinity) arm();
    });
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
    this.#closedBy = error;
    this.#listener?.(error);
  }

  /** Leaves the channel and drops the kept messages. A `next` that still waits ends with `timeout`. Idempotent. */
  close(): void {
    this.#closedBy ??= new TypeError('the waiter is closed');
    this.#kept = [];
    this.#listener?.(TIMEOUT);
    this.onClose(this);
  }

  /** `using waiter = await hub.waiter(…)` closes it at the end of the block. */
  [Symbol.dispose](): void {
    this.close();
  }

  #give(wake: Wake): void {
    if (this.#listener) this.#listener(wake);
    else if (this.#kept.length < MAX_KEPT) this.#kept.push(wake);
    else this.#kept = [RESYNC];
  }
}
