/** The feeds of all chats that are followed in this process, by one `Chats`. */
import type { ChatsContext } from '../chat/chats-context.js';
import { ChatFeed } from './chat-feed.js';
import { Heads } from './heads.js';

/**
 * A chat of which nothing was heard for so long is looked at. What interrupts a subscription is told by the hub, so this is
 * for what nobody tells: a connection of the caller's, with RESP3, whose peer has vanished without a word, or on which
 * the caller has called `unsubscribe()`; a chat that was wiped by FLUSHALL. One ZMSCORE for each chat, in pipelines.
 */
export const RECHECK_MS = 60_000;
const TICK_MS = 5_000;

export class Feeds {
  readonly heads: Heads;
  readonly #context: ChatsContext;
  readonly #feeds = new Map<string, ChatFeed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.heads = new Heads(context.redis);
  }

  /** The feed of a chat. It is given up when its last seat is. */
  open(chatId: string): ChatFeed {
    let feed = this.#feeds.get(chatId);
    if (!feed) {
      feed = new ChatFeed(this.#context, this.heads, chatId, (empty) => this.#remove(empty));
      this.#feeds.set(chatId, feed);
    }
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    return feed;
  }

  find(chatId: string): ChatFeed | undefined {
    return this.#feeds.get(chatId);
  }

  #remove(feed: ChatFeed): void {
    if (this.#feeds.get(feed.chatId) === feed) this.#feeds.delete(feed.chatId);
    if (this.#feeds.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const now = performance.now();
    for (const feed of this.#feeds.values()) {
      feed.rest(now);
      if (now - feed.checkedAt > RECHECK_MS) feed.recheck();
    }
  }
}
