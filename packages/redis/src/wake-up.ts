/**
 * A flag that one waiter waits for: an auto-reset event. A wake-up before the wait is kept, so there is no moment at which
 * one is lost; several before one wait count once.
 */
import { ArgumentTypeError } from './argument-error.js';
import { callAfter } from './call-after.js';
import { onAbort } from './on-abort.js';

export class WakeUp {
  #isAwake = false;
  #isClosed = false;
  #error: Error | undefined;
  #end: (() => void) | undefined;

  /** Ends the present wait, or the next one at once. */
  wake(): void {
    if (this.#end) this.#end();
    else this.#isAwake = true;
  }

  /** Forgets a wake-up that no wait has seen. */
  reset(): void {
    this.#isAwake = false;
  }

  /**
   * Resolves to true after a `wake` since the last wait, to false after `ms`. One call at a time. Rejects with the reason of an
   * aborted signal, and with the error of `close`.
   */
  wait(ms = Infinity, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.#error) return Promise.reject(this.#error);
    if (this.#end) return Promise.reject(new ArgumentTypeError('another wait has not ended'));
    if (this.#isAwake || this.#isClosed) {
      this.#isAwake = false;
      return Promise.resolve(true);
    }
    if (ms <= 0) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        cancel();
        unlisten?.();
        this.#end = undefined;
        settle();
      };
      const cancel = callAfter(ms, () => end(() => resolve(false)));
      const unlisten = signal && onAbort(signal, () => end(() => reject(signal.reason as Error)));
      this.#end = () => end(() => (this.#error ? reject(this.#error) : resolve(true)));
    });
  }

  /** Ends the present wait and each later one at once. With an error they reject; the first error counts. */
  close(error?: Error): void {
    this.#isClosed = true;
    this.#error ??= error;
    this.#end?.();
  }
}
