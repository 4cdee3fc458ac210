import { encodeName } from '@mortise/redis';
import type { MemberIndex } from '../member/member-index.js';

/** What is found within so long is cleaned away together. */
const CLEAN_MS = 1_000;

/** Cleans away what a follower finds to be of no use in the index of its member: who only follows has nobody else for that. */
export class Cleaning {
  readonly #index: MemberIndex;
  readonly #member: string;
  readonly #onFailure: (chatIds: readonly string[]) => void;
  readonly #chatIds = new Set<string>();
  /** As stored: chats, and when their mutes ended. */
  readonly #endedMutes = new Map<string, string>();
  /** What the clock of the member's server showed, ms. */
  #now = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onFailure Hears of chats that have to be found once more. */
  constructor(index: MemberIndex, member: string, onFailure: (chatIds: readonly string[]) => void) {
    this.#index = index;
    this.#member = member;
    this.#onFailure = onFailure;
  }

  /** The index was read. `mutes`: in turn the chats, encoded, and until when they are muted. */
  onRead(now: number, mutes: readonly string[]): void {
    this.#now = now;
    for (let place = 0; place < mutes.length; place += 2) {
      const until = mutes[place + 1]!;
      if (until === '0' || Number(until) > now) continue;
      this.#endedMutes.set(mutes[place]!, until);
      this.#start();
    }
  }

  /** A chat doesn't have the member, and nobody is about to add them. */
  add(chatId: string): void {
    this.#chatIds.add(chatId);
    this.#start();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#timer ??= setTimeout(() => void this.#clean(), CLEAN_MS).unref();
  }

  async #clean(): Promise<void> {
    this.#timer = undefined;
    const chatIds = [...this.#chatIds];
    const endedMutes = [...this.#endedMutes];
    this.#chatIds.clear();
    this.#endedMutes.clear();
    try {
      const dangling = chatIds.map(encodeName);
      await this.#index.forget(this.#member, { dangling, endedMutes, now: this.#now });
    } catch {
      // The next reading finds it again.
      this.#onFailure(chatIds);
    }
  }
}
