/**
 * Writes the tokens of one subscription: its position in every chat that is ahead of the member's cursor, and in some
 * others. For the others the cursor would be enough, but it also moves when the member acks or posts elsewhere.
 */
import type { FollowedChat } from './followed-chat.js';
import { joinToken, seedOf } from './resume-token.js';

/** Chats in a token that are not ahead: up to 1,152 characters of it. */
export const MAX_SETTLED = 32;
/** With this many chats ahead of their known cursors, the cursors are read again, at this interval at most. */
const MANY_AHEAD = 64;
const REFRESH_MS = 10_000;

export class TokenWriter {
  readonly #seed: number;
  /** Chats that may be ahead of the cursor, the latest one last. */
  readonly #ahead = new Set<FollowedChat>();
  /** Chats that are not ahead, the latest one last. */
  readonly #settled = new Set<FollowedChat>();
  #refreshedAt = performance.now();

  constructor(member: string) {
    this.#seed = seedOf(member);
  }

  /** The chat begins at the position of a token. */
  onStart(chat: FollowedChat): void {
    this.#ahead.add(chat);
  }

  /** The position of the member in the chat is known. */
  onBegun(chat: FollowedChat): void {
    if (this.#ahead.has(chat) || this.#settled.size >= MAX_SETTLED) return;
    this.#settled.add(chat);
  }

  /** The chat has delivered an event. */
  onMoved(chat: FollowedChat): void {
    this.drop(chat);
    if (chat.isAhead) this.#ahead.add(chat);
    else this.#settle(chat);
    if (this.#ahead.size >= MANY_AHEAD) this.#refresh();
  }

  drop(chat: FollowedChat): void {
    this.#ahead.delete(chat);
    this.#settled.delete(chat);
  }

  clear(): void {
    this.#ahead.clear();
    this.#settled.clear();
  }

  /** O(chats that are ahead). */
  token(): string {
    const ahead: string[] = [];
    for (const chat of this.#ahead) {
      if (chat.isAhead) ahead.push(chat.position!);
      else {
        this.#ahead.delete(chat);
        this.#settle(chat);
      }
    }
    const settled = Array.from(this.#settled, ({ position }) => position ?? []).flat();
    return joinToken(this.#seed, [...ahead.toReversed(), ...settled.toReversed()]);
  }

  #settle(chat: FollowedChat): void {
    this.#settled.add(chat);
    if (this.#settled.size <= MAX_SETTLED) return;
    const [oldest] = this.#settled;
    this.#settled.delete(oldest!);
  }

  /** Reads the cursors again: chats that were acked elsewhere are no longer ahead. */
  #refresh(): void {
    const now = performance.now();
    if (now - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = now;
    for (const chat of this.#ahead) chat.look();
  }
}
