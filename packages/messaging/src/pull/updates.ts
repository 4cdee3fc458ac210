import type { WaiterHub } from '@mortise/redis';
import { ClientClosedError, onAbort } from '@mortise/redis';

/** The first byte of a frame with a new entry of a chat, see `src/follow/frame.ts`. */
const ENTRY = 'm'.charCodeAt(0);
/** Messages on the channel of a member: a chat was added, mutes were changed. */
const ADDED = 'c'.charCodeAt(0);
const MUTES = 'u'.charCodeAt(0);
/** Bytes of a frame before its text: its kind, and a u32 with the length of the text. */
const FRAME_HEAD = 5;

/**
 * Wakes a waiting `pull` when there may be something new, by messages on the channels of the member and their chats. All
 * waiting pulls of the process share the subscriptions.
 */
export class Updates {
  readonly #hub: WaiterHub;
  readonly #stops = new Map<string, () => void>();
  readonly #listener = {
    onMessage: (body: Buffer): void => {
      if (isUpdate(body)) this.#wake();
    },
    onResync: (): void => this.#wake(),
    onClosed: (): void => {
      this.#isClosed = true;
      this.#wake();
    },
  };
  #isClosed = false;
  #isOver = false;
  #hasUpdate = false;
  #waiting: (() => void) | undefined;

  constructor(hub: WaiterHub) {
    this.#hub = hub;
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

  /** Resolves when something may be new since the last call, or at the deadline. Rejects with the signal's reason. */
  async next(deadlineAt: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#hasUpdate && !this.#isClosed) {
      const unlisten = signal && onAbort(signal, () => this.#wake());
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
        timer = setTimeout(resolve, Math.max(0, deadlineAt - performance.now()));
      });
      this.#waiting = undefined;
      clearTimeout(timer);
      unlisten?.();
      signal?.throwIfAborted();
    }
    this.#hasUpdate = false;
    if (this.#isClosed) throw new ClientClosedError();
  }

  close(): void {
    this.#isOver = true;
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }

  #wake(): void {
    this.#hasUpdate = true;
    this.#waiting?.();
  }
}

/** Whether there may be something new to pull. A join brings nothing, since new members begin after the newest message. */
function isUpdate(body: Buffer): boolean {
  if (body[0] === ADDED || body[0] === MUTES) return true;
  for (let at = 0; at + FRAME_HEAD <= body.length; at += FRAME_HEAD + body.readUInt32BE(at + 1)) {
    if (body[at] === ENTRY) return true;
  }
  return false;
}
