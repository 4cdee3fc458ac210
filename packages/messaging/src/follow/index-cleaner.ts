import { encodeName } from '@mortise/redis';
import type { MemberIndex } from '../members/member-index.js';

/** Useless entries found within this time are removed together. */
const CLEAN_MS = 1_000;

/** Removes useless entries that a subscription finds in its member's index, since a member may only follow and never pull. */
export class IndexCleaner {
  readonly #index: MemberIndex;
  readonly #member: string;
  readonly #onFailure: (chatIds: readonly string[]) => void;
  readonly #chatIds = new Set<string>();
  /** As stored: chats, and the ends of their mutes. */
  readonly #endedMutes = new Map<string, string>();
  /** The clock of the member's server, ms. */
  #now = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onFailure Called with chats that must be found again. */
  constructor(index: MemberIndex, member: string, onFailure: (chatIds: readonly string[]) => void) {
    this.#index = index;
    this.#member = member;
    this.#onFailure = onFailure;
  }

  /** The index was read. `mutes`: pairs of a chat, encoded, and the end of its mute. */
  onRead(now: number, mutes: readonly string[]): void {
    this.#now = now;
    for (let place = 0; place < mutes.length; place += 2) {
      const until = mutes[place + 1]!;
      if (until === '0' || Number(until) > now) continue;
      this.#endedMutes.set(mutes[place]!, until);
      this.#start();
    }
  }

  /** The member is not in the chat, and no join is under way. */
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
      const unjoined = chatIds.map(encodeName);
      await this.#index.forget(this.#member, { unjoined, endedMutes, now: this.#now });
    } catch {
      // The next read of the index finds them again.
      this.#onFailure(chatIds);
    }
  }
}
