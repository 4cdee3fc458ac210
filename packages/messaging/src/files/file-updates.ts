/** What is said on the channel of a file, or of a channel of files: kept as the newest state, so that nothing has to be queued. */
import type { Listener, WaiterHub } from '@mortise/redis';
import { ClientClosedError } from '@mortise/redis';

export class FileUpdates implements Listener {
  /** How many chunks are committed, as far as was heard. */
  chunks = 0;
  freedBytes = 0;
  /** Something has changed beyond the two above, or may have: look at Redis. */
  isStale = true;
  #stop: () => void = () => undefined;
  #isClosed = false;
  #isGivenUp = false;
  #isPoked = false;
  #wake: (() => void) | undefined;

  /** Listens. What is said after this has resolved is heard. */
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
    this.poke();
  }

  onResync(): void {
    this.isStale = true;
    this.poke();
  }

  onClosed(): void {
    this.#isClosed = true;
    this.poke();
  }

  /** Ends a `wait`, the present one or the next. */
  poke(): void {
    this.#isPoked = true;
    this.#wake?.();
  }

  /** Resolves when something was said since the last `wait`, or after `ms`. Rejects with the reason of the signal, and when the client was closed. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#isPoked) {
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
    this.#isPoked = false;
    signal?.throwIfAborted();
    if (this.#isClosed) throw new ClientClosedError();
    if (this.#isGivenUp) throw new TypeError('nobody reads this any more');
  }

  /** Listens no more. A `wait` that is still under way, of a reader that nobody asks any more, rejects. */
  close(): void {
    this.#stop();
    this.#isGivenUp = true;
    this.poke();
  }
}
