import type { WaiterHub } from '@mortise/redis';
import { ClientClosedError, WakeUp } from '@mortise/redis';
import type { Pacer } from './pacer.js';

/** Listens to channels for one wait. All waits of the process share the subscriptions. */
export class Updates {
  readonly #hub: WaiterHub;
  readonly #stops = new Map<string, () => void>();
  readonly #wakeUp = new WakeUp();
  readonly #listener;
  #isOver = false;

  /** @param isUpdate Whether there may be something new after a message. */
  constructor(hub: WaiterHub, isUpdate: (body: Buffer) => boolean) {
    this.#hub = hub;
    this.#listener = {
      onMessage: (body: Buffer): void => {
        if (isUpdate(body)) this.#wakeUp.wake();
      },
      onResync: (): void => this.#wakeUp.wake(),
      onClosed: (): void => this.#wakeUp.close(new ClientClosedError()),
    };
  }

  /** Whether each of these channels was subscribed. */
  hasAll(channels: readonly string[]): boolean {
    return channels.every((channel) => this.#stops.has(channel));
  }

  /** Listens to exactly these channels; resolves when the server has confirmed. */
  async listen(channels: readonly string[]): Promise<void> {
    const wanted = new Set(channels);
    for (const [channel, stop] of this.#stops) {
      if (wanted.has(channel)) continue;
      stop();
      this.#stops.delete(channel);
    }
    const added = [...wanted].filter((channel) => !this.#stops.has(channel));
    await Promise.all(
      added.map(async (channel) => {
        const stop = await this.#hub.listen(channel, this.#listener);
        if (this.#isOver) stop();
        else this.#stops.set(channel, stop);
      }),
    );
  }

  /** Resolves to true when something may be new since the last call, to false after `ms`. Rejects with the signal's reason. */
  next(ms: number, signal?: AbortSignal): Promise<boolean> {
    return this.#wakeUp.wait(ms, signal);
  }

  /** As `next`, and when the pacer calls. */
  async nextOrPaced(pacer: Pacer, ms: number, signal?: AbortSignal): Promise<void> {
    const withdraw = pacer.request(() => this.#wakeUp.wake());
    await this.next(ms, signal).finally(withdraw);
  }

  close(): void {
    this.#isOver = true;
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}
