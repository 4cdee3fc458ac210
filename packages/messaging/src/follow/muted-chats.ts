import { decodeName } from '@mortise/redis';

/** The longest timer for the end of a mute; it is then set again. */
const MAX_WAIT_MS = 60_000;

/** The muted chats of a follower, until their mutes end by this process's clock. */
export class MutedChats {
  readonly #onEnd: (chatId: string) => void;
  /** The end of each mute, ms since 1970; 0: forever. */
  #mutes = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param onEnd Called with each chat that is no longer muted. */
  constructor(onEnd: (chatId: string) => void) {
    this.#onEnd = onEnd;
  }

  has(chatId: string): boolean {
    const untilMs = this.#mutes.get(chatId);
    return untilMs !== undefined && (untilMs === 0 || untilMs > Date.now());
  }

  /** @param mutes Pairs of a chat, encoded, and the end of its mute. */
  set(mutes: readonly string[]): void {
    const before = this.#mutes;
    this.#mutes = new Map();
    for (let index = 0; index < mutes.length; index += 2) {
      this.#mutes.set(decodeName(mutes[index]!), Number(mutes[index + 1]));
    }
    for (const chatId of before.keys()) if (!this.has(chatId)) this.#onEnd(chatId);
    this.#wait();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const now = Date.now();
    const ends = [...this.#mutes.values()].filter((untilMs) => untilMs > now);
    if (ends.length === 0) return;
    const pauseMs = Math.min(Math.min(...ends) - now + 1, MAX_WAIT_MS);
    this.#timer = setTimeout(() => this.#sweep(), pauseMs).unref();
  }

  #sweep(): void {
    for (const chatId of this.#mutes.keys()) {
      if (this.has(chatId)) continue;
      this.#mutes.delete(chatId);
      this.#onEnd(chatId);
    }
    this.#wait();
  }
}
