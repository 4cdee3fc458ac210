/** The events of all chats of a member, each chat in order. It stores positions but no messages, so it stays small while unread. */
import type { Listener } from '@mortise/redis';
import { ClientClosedError, decodeName, encodeName, onAbort } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import type { MemberIndex } from '../members/member-index.js';
import type { UnreadableOptions } from '../options.js';
import { persist } from '../persist.js';
import { UnreadableChats } from '../pull/unreadable-chats.js';
import { followIndex } from '../scripts.gen.js';
import { FOLLOWED, GAPS, RESYNCS } from '../telemetry/metrics.js';
import type { ChatEvent, ChatEvents } from './chat-event.js';
import type { ChatFollower } from './chat-follower.js';
import type { BufferedEvent } from './event-buffer.js';
import { RECHECK_MS } from './feeds.js';
import type { Feeds } from './feeds.js';
import { FETCH, FollowedChat } from './followed-chat.js';
import { IndexCleaner } from './index-cleaner.js';
import { MutedChats } from './muted-chats.js';
import { OpenBarrier } from './open-barrier.js';
import type { Position } from './resume-token.js';
import { TokenWriter } from './token-writer.js';

export interface SubscriptionOptions {
  readonly member: string;
  /** The positions of a token. */
  readonly positions: readonly Position[];
  readonly includeMuted: boolean;
  readonly signal: AbortSignal | undefined;
  readonly unreadable: UnreadableOptions;
}

/** Pages that are being fetched or not yet delivered at a time. */
const MAX_PAGES = 4;
/** A new chat of the index is read after each of these times: the member joins it within 30 s, or never. */
const CHECKS_MS = [50, 250, 1_000, 5_000, 31_000];
/** A join under an entry of the index ends within this time. */
const MAX_JOIN_MS = 60_000;
const DONE = { done: true, value: undefined } as const;

export class Subscription<Body> implements ChatEvents<Body>, ChatFollower<FollowedChat>, Listener {
  readonly member: string;
  readonly encodedMember: string;
  readonly #context: ChatsContext;
  readonly #feeds: Feeds;
  readonly #options: SubscriptionOptions;
  readonly #tokens: TokenWriter;
  readonly #chats = new Map<string, FollowedChat>();
  /** Chats that may have an event, in the order in which they are read. */
  readonly #ready = new Set<FollowedChat>();
  /** Chats that have a page, or wait for one. */
  readonly #paging = new Set<FollowedChat>();
  /** Chats that need a page, and wait until another chat has delivered its own. */
  readonly #waitingForPage = new Set<FollowedChat>();
  /** Number of reads of a chat without the member. */
  readonly #checks = new Map<FollowedChat, { count: number; timer?: NodeJS.Timeout }>();
  /** When a chat was last added to the index, by `performance.now()`. */
  readonly #announced = new Map<string, number>();
  /** Entries of the index whose chats lack the member. */
  readonly #unjoined = new Map<string, number>();
  readonly #cleaner: IndexCleaner;
  readonly #barrier = new OpenBarrier();
  readonly #muted = new MutedChats((chatId) => this.#chats.get(chatId)?.wake());
  #indexTimer: NodeJS.Timeout | undefined;
  #isIndexStale = false;
  /** True from the start, so that a change during the first read starts a second one. */
  #isReadingIndex = true;
  #stop: (() => void) | undefined;
  #unlisten: (() => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #onReady: (() => void) | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isStarted = false;
  #isOver = false;

  constructor(context: ChatsContext, feeds: Feeds, index: MemberIndex, options: SubscriptionOptions) {
    this.#context = context;
    this.#feeds = feeds;
    this.#options = options;
    this.member = options.member;
    this.encodedMember = encodeName(options.member);
    this.#tokens = new TokenWriter(options.member);
    this.#cleaner = new IndexCleaner(index, options.member, (chatIds) => {
      for (const chatId of chatIds) this.#unjoined.delete(chatId);
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next event. Calls are answered in order. */
  next(): Promise<IteratorResult<ChatEvent<Body>, undefined>> {
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => undefined);
    return next;
  }

  open(): Promise<void> {
    if (!this.#isStarted) this.#start();
    const opened = this.#barrier.wait();
    if (this.#isOver) this.#barrier.end(this.#failure);
    return opened;
  }

  /** Ends the iteration, also a `next` that waits. Idempotent. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#close();
    return DONE;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  wake(chat: FollowedChat): void {
    if (this.#isOver) return;
    if (!chat.isCandidate) this.#barrier.onPlaced(chat);
    this.#ready.add(chat);
    this.#onReady?.();
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.#close();
  }

  onBegun(chat: FollowedChat): void {
    this.#tokens.onBegun(chat);
  }

  onJoined(chatId: string): void {
    this.#announce(chatId);
  }

  onAbsent(chat: FollowedChat): void {
    this.#barrier.onPlaced(chat);
    const check = this.#checks.get(chat);
    if (!check) {
      this.#drop(chat);
      if (this.#unjoined.has(chat.chatId)) this.#cleaner.add(chat.chatId);
      return;
    }
    if (check.timer) return;
    const pauseMs = CHECKS_MS[check.count];
    if (pauseMs === undefined) {
      this.#drop(chat);
      return;
    }
    check.count += 1;
    check.timer = setTimeout(() => {
      delete check.timer;
      chat.look();
    }, pauseMs).unref();
  }

  onUnreadable(chat: FollowedChat, cause: unknown): void {
    this.#barrier.onPlaced(chat);
    UnreadableChats.of(this.#context).note(chat.chatId, cause, this.#options.unreadable);
  }

  /** A message on the channel of the member. */
  onMessage(body: Buffer): void {
    const text = body.toString();
    if (text.startsWith('c')) this.#announce(decodeName(text.slice(1)));
    else this.#look();
  }

  onResync(): void {
    this.#context.telemetry?.count(RESYNCS, 1);
    this.#look();
  }

  onClosed(): void {
    this.fail(new ClientClosedError());
  }

  async #next(): Promise<IteratorResult<ChatEvent<Body>, undefined>> {
    if (!this.#isStarted) this.#start();
    for (;;) {
      if (this.#failure) {
        const { error } = this.#failure;
        this.#failure = undefined;
        throw error;
      }
      if (this.#isOver) return DONE;
      const event = this.#take();
      if (event) return { done: false, value: event };
      await new Promise<void>((resolve) => {
        this.#onReady = resolve;
      });
      this.#onReady = undefined;
    }
  }

  #start(): void {
    this.#isStarted = true;
    const { signal } = this.#options;
    if (signal?.aborted) {
      this.#close();
      return;
    }
    if (signal) this.#unlisten = onAbort(signal, () => this.#close());
    this.#open().catch((error: unknown) => this.fail(error));
  }

  async #open(): Promise<void> {
    const { hub, keys } = this.#context;
    const stop = await hub.listen(keys.member(this.member).events, this);
    if (this.#isOver) {
      stop();
      return;
    }
    this.#stop = stop;
    await this.#readIndex(true);
    if (this.#isOver) return;
    this.#barrier.begin(this.#chats.values());
    this.#isReadingIndex = false;
    this.#checkIndexLater();
    if (this.#isIndexStale) this.#look();
  }

  /** Reads the index again, now or after the read in progress. */
  #look(): void {
    this.#isIndexStale = true;
    if (!this.#isReadingIndex && !this.#isOver) void this.#lookNow();
  }

  async #lookNow(): Promise<void> {
    this.#isReadingIndex = true;
    try {
      while (this.#isIndexStale && !this.#isOver) {
        this.#isIndexStale = false;
        await persist(
          () => !this.#isOver,
          () => this.#readIndex(false),
        );
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isReadingIndex = false;
    }
  }

  #checkIndexLater(): void {
    if (this.#isOver) return;
    this.#indexTimer = setTimeout(
      () => {
        const oldest = performance.now() - MAX_JOIN_MS;
        for (const [chatId, at] of this.#announced) if (at < oldest) this.#announced.delete(chatId);
        this.#look();
        this.#checkIndexLater();
      },
      RECHECK_MS * (1 + Math.random() / 4),
    ).unref();
  }

  async #readIndex(isFirst: boolean): Promise<void> {
    const { redis, keys } = this.#context;
    const { chats, mutes } = keys.member(this.member);
    const reply = (await followIndex.run(redis, { chats, mutes }, {})) as [string, string[], string[]];
    if (this.#isOver) return;
    const [seconds, entries, muted] = reply;
    const now = Number(seconds) * 1_000;
    this.#cleaner.onRead(now, muted);
    if (!this.#options.includeMuted) this.#muted.set(muted);
    const started = isFirst ? this.#options.positions : [];
    const positions = new Map(started.map((position) => [position.chatId, position]));
    const indexed = new Set<string>();
    for (let index = 0; index < entries.length; index += 2) {
      const chatId = decodeName(entries[index]!);
      const joinedAt = Number(entries[index + 1]);
      indexed.add(chatId);
      if (this.#unjoined.get(chatId) === joinedAt || this.#chats.has(chatId)) continue;
      const isJoinOver = now - joinedAt > MAX_JOIN_MS;
      if (isJoinOver) this.#unjoined.set(chatId, joinedAt);
      this.#follow(chatId, { start: positions.get(chatId), isNewcomer: !isFirst, isJoinOver });
    }
    for (const chatId of this.#unjoined.keys()) if (!indexed.has(chatId)) this.#unjoined.delete(chatId);
    for (const start of positions.values()) {
      if (!indexed.has(start.chatId))
        this.#follow(start.chatId, { start, isNewcomer: false, isJoinOver: true });
    }
  }

  /** @param options.isJoinOver Whether no join is under way. */
  #follow(
    chatId: string,
    options: { start: Position | undefined; isNewcomer: boolean; isJoinOver: boolean },
  ): void {
    const chat = new FollowedChat(this, this.#feeds.open(chatId), options);
    this.#chats.set(chatId, chat);
    if (!options.isJoinOver) this.#checks.set(chat, { count: 0 });
    if (options.start) this.#tokens.onStart(chat);
    chat.attach();
  }

  /** The chat was added to the index: the member is in it, or a join is under way. */
  #announce(chatId: string): void {
    if (this.#isOver) return;
    if (!this.#indexTimer) {
      this.#isIndexStale = true;
      return;
    }
    // A mute ends with the membership, without a message; a missed `left` also leaves a stale one.
    if (this.#muted.has(chatId) || this.#isReadingIndex) this.#look();
    this.#announced.set(chatId, performance.now());
    this.#unjoined.delete(chatId);
    const chat = this.#chats.get(chatId);
    if (chat?.isCandidate) {
      const check = this.#checks.get(chat);
      if (check) check.count = 0;
      else this.#checks.set(chat, { count: 0 });
      chat.look();
    }
    if (!chat) this.#follow(chatId, { start: undefined, isNewcomer: true, isJoinOver: false });
  }

  #drop(chat: FollowedChat): void {
    clearTimeout(this.#checks.get(chat)?.timer);
    this.#checks.delete(chat);
    this.#ready.delete(chat);
    this.#waitingForPage.delete(chat);
    this.#tokens.drop(chat);
    this.#grantPage(chat);
    if (this.#chats.get(chat.chatId) === chat) this.#chats.delete(chat.chatId);
    chat.detach();
  }

  #take(): ChatEvent<Body> | undefined {
    for (const chat of this.#ready) {
      this.#ready.delete(chat);
      const isMuted = this.#muted.has(chat.chatId);
      if (isMuted) chat.dropPage();
      const found = isMuted ? chat.takeEnd() : chat.take();
      if (!chat.hasPage) this.#grantPage(chat);
      if (found === FETCH) {
        if (this.#paging.size === MAX_PAGES) this.#waitingForPage.add(chat);
        else {
          this.#paging.add(chat);
          void chat.fetch();
        }
      } else if (found) {
        return this.#event(chat, found);
      }
    }
    return undefined;
  }

  /** The chat has delivered its page. */
  #grantPage(chat: FollowedChat): void {
    if (!this.#paging.delete(chat)) return;
    for (const next of this.#waitingForPage) {
      this.#waitingForPage.delete(next);
      this.#ready.add(next);
      return;
    }
  }

  #event(chat: FollowedChat, event: BufferedEvent): ChatEvent<Body> {
    const { chatId } = chat;
    const { telemetry } = this.#context;
    telemetry?.count(FOLLOWED, 1, { 'mortise.messaging.event': event.type });
    if (event.type === 'gap') telemetry?.count(GAPS, 1);
    if (chat.isOver) {
      this.#drop(chat);
      const announcedAt = this.#announced.get(chatId) ?? -Infinity;
      if (announcedAt > performance.now() - MAX_JOIN_MS) this.#announce(chatId);
      // The mute has ended as well. The member may have come back unnoticed; otherwise the index entry is useless.
      this.#look();
    } else {
      // Last in the order, so that a busy chat does not delay others.
      this.#ready.add(chat);
      this.#tokens.onMoved(chat);
    }
    // The event was created for this call.
    return Object.assign(event, { chatId, token: this.#tokens.token() }) as ChatEvent<Body>;
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isStarted = true;
    this.#unlisten?.();
    clearTimeout(this.#indexTimer);
    this.#cleaner.close();
    this.#muted.close();
    for (const { timer } of this.#checks.values()) clearTimeout(timer);
    this.#stop?.();
    for (const chat of this.#chats.values()) chat.detach();
    this.#chats.clear();
    this.#ready.clear();
    this.#waitingForPage.clear();
    this.#tokens.clear();
    this.#barrier.end(this.#failure);
    this.#onReady?.();
  }
}
