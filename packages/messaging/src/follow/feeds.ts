/** The feeds of all chats that are followed through one `Chats`. */
import type { ChatsContext } from '../log/context.js';
import { ChatFeed } from './chat-feed.js';
import { ChatHeads } from './chat-heads.js';

/**
 * The head of a silent chat is read after this time. The hub reports interruptions. This read finds losses that
 * nobody reports: a RESP3 connection without its peer or after an `unsubscribe()` of the caller, and a FLUSHALL. One
 * ZMSCORE for each chat, in pipelines.
 */
export const RECHECK_MS = 60_000;
const TICK_MS = 5_000;

export class Feeds {
  readonly heads: ChatHeads;
  readonly #context: ChatsContext;
  readonly #feeds = new Map<string, ChatFeed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.heads = new ChatHeads(context.redis);
  }

  /** The feed of a chat. It ends with its last follower. */
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
      feed.dropOldTail(now);
      if (now - feed.checkedAt > RECHECK_MS) feed.recheck();
    }
  }
}
