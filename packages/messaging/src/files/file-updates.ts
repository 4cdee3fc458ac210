/** Messages about a file or a channel of files. Only the newest state counts, so there is no queue. */
import type { Listener, WaiterHub } from '@mortise/redis';
import { ClientClosedError } from '@mortise/redis';

export class FileUpdates implements Listener {
  /** Number of committed chunks according to messages. */
  chunks = 0;
  freedBytes = 0;
  /** Something else may have changed: read it from Redis. */
  isStale = true;
  #stop: () => void = () => undefined;
  #isClosed = false;
  #isOver = false;
  #isAwake = false;
  #wake: (() => void) | undefined;

  /** Subscribes. Receives all messages that are published after this resolves. */
  static async open(hub: WaiterHub, channel: string): Promise<FileUpdates> {
    const updates = new FileUpdates();
    updates.#stop = await hub.listen(channel, updates);
    return updates;
  }

  onMessage(body: Buffer): void {
    const [chunks, freedBytes, state] = body.toString().split(' ');
    if (state === undefined) this.isStale = true;
    else {
      this.chunks = Math.max(this.chunks, Number(chunks));
      this.freedBytes = Math.max(this.freedBytes, Number(freedBytes));
      if (state !== 'open') this.isStale = true;
    }
    this.wake();
  }

  onResync(): void {
    this.isStale = true;
    this.wake();
  }

  onClosed(): void {
    this.#isClosed = true;
    this.wake();
  }

  /** Ends the present `wait` or the next one. */
  wake(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  /**
   * Resolves when a message has come since the last `wait`, or after `ms`. Rejects with the signal's reason, and when the
   * client is closed.
   */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          this.#wake = undefined;
          resolve();
        };
        const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
        signal?.addEventListener('abort', end, { once: true });
        this.#wake = end;
      });
    }
    this.#isAwake = false;
    signal?.throwIfAborted();
    if (this.#isClosed) throw new ClientClosedError();
    if (this.#isOver) throw new TypeError('the reading of the file was ended');
  }

  /** Unsubscribes. A pending `wait` rejects. */
  close(): void {
    this.#stop();
    this.#isOver = true;
    this.wake();
  }
}
