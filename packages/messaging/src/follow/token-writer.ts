/**
 * Writes the tokens of one subscription: its position in every chat that is ahead of the member's known cursor, and in some
 * others. For the others the cursor would be enough, but it also moves when the member acks or posts elsewhere.
 */
import type { FollowedChat } from './followed-chat.js';
import { joinToken, seedOf } from './resume-token.js';

/** Chats in a token that are not ahead: up to 1,152 characters of it. */
const MAX_OTHERS = 32;

export class TokenWriter {
  readonly #seed: number;
  /** Those that moved are last, in that order. */
  readonly #chats = new Set<FollowedChat>();

  constructor(member: string) {
    this.#seed = seedOf(member);
  }

  /** The chat begins at the position of a token. */
  onStart(chat: FollowedChat): void {
    this.#chats.add(chat);
  }

  /** The position of the member in the chat is known. */
  onBegun(chat: FollowedChat): void {
    if (this.#chats.size < MAX_OTHERS) this.#chats.add(chat);
  }

  /** The chat has delivered an event. */
  onMoved(chat: FollowedChat): void {
    this.#chats.delete(chat);
    this.#chats.add(chat);
  }

  drop(chat: FollowedChat): void {
    this.#chats.delete(chat);
  }

  clear(): void {
    this.#chats.clear();
  }

  /** O(chats that are ahead). */
  token(): string {
    const ahead: string[] = [];
    const others: string[] = [];
    for (const chat of Array.from(this.#chats).toReversed()) {
      const { position, isAhead } = chat;
      if (position === undefined) continue;
      if (isAhead) ahead.push(position);
      else if (others.length < MAX_OTHERS) others.push(position);
      else this.#chats.delete(chat);
    }
    return joinToken(this.#seed, [...ahead, ...others]);
  }
}
