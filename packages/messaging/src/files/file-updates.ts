/** Messages about a file or a channel of files. Only the newest state counts, so there is no queue. */
import type { Listener, WaiterHub } from '@mortise/redis';
import { ClientClosedError, WakeUp } from '@mortise/redis';

export class FileUpdates implements Listener {
  /** Number of committed chunks according to messages. */
  chunks = 0;
  freedBytes = 0;
  /** Something else may have changed: read it from Redis. */
  isStale = true;
  readonly #wakeUp = new WakeUp();
  #stop: () => void = () => undefined;

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
    this.#wakeUp.close(new ClientClosedError());
  }

  /** Ends the present `wait` or the next one. */
  wake(): void {
    this.#wakeUp.wake();
  }

  /**
   * Resolves when a message has come since the last `wait`, or after `ms`. Rejects with the signal's reason, and when the
   * client is closed.
   */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#wakeUp.wait(ms, signal);
  }

  /** Unsubscribes. A pending `wait` rejects. */
  close(): void {
    this.#stop();
    this.#wakeUp.close(new TypeError('the reading of the file was ended'));
  }
}
