/**
 * One party that waits for messages on a channel. Messages that arrive between two calls of `next` are kept, so a
 * wake-up that overtakes the reply it belongs to is never lost.
 */
import { ClientClosedError } from './coded-error.js';
import { onAbort } from './on-abort.js';

/** What ended a wait. `resync`: messages may have been missed; look at the state in Redis again. */
export type Wake =
  | { readonly type: 'message'; readonly body: Buffer }
  | { readonly type: 'resync' }
  | { readonly type: 'timeout' };

export interface WaitOptions {
  /** An instant on the clock of `performance.now()`. Default: no deadline. */
  readonly deadlineAt?: number;
  /** Aborts the wait: `next` rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** A waiter that nobody reads keeps this many messages; then they become one `resync`. */
const MAX_KEPT = 1_000;
/** The longest delay of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const RESYNC: Wake = { type: 'resync' };
const TIMEOUT: Wake = { type: 'timeout' };

/** A place on a channel, from `WaiterHub.waiter`. */
export class Waiter implements Disposable {
  #kept: Wake[] = [];
  #listener: ((wake: Wake | Error) => void) | undefined;
  #closedBy: Error | undefined;

  constructor(
    readonly channel: string,
    /** Messages `<id>:<body>` come to this waiter alone, messages `*:<body>` to all waiters of the channel. */
    readonly id: string,
    readonly onClose: (waiter: Waiter) => void,
  ) {}

  /**
   * The next message, `resync` or `timeout`, whichever comes first. One call at a time. Rejects with the reason of
   * an aborted signal, with ERR_CLIENT_CLOSED when the client was closed, and with TypeError after `close`. A message
   * that is there already wins over a deadline that has passed and over an aborted signal.
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

  /** Called by the hub when messages may have been missed. */
  resync(): void {
    if (this.#kept.at(-1) !== RESYNC) this.#give(RESYNC);
  }

  /** Called by the hub when no message can come any more. */
  fail(error: Error = new ClientClosedError()): void {
    this.#closedBy = error;
    this.#listener?.(error);
  }

  /** Gives the place up: kept messages are dropped, and a `next` that is still waiting ends with `timeout`. Idempotent. */
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
