/**
 * One follower: the events of all chats of a member, in the order of each chat. It keeps a position for each chat and no
 * messages: what is ready is taken from the feeds when it is asked for, what they have given up is fetched then. So
 * a follower that isn't read holds nothing up and grows by nothing.
 */
import type { Listener } from '@mortise/redis';
import { ClientClosedError, decodeName, encodeName, onAbort } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { followIndex } from '../scripts.gen.js';
import { FOLLOWED, GAPS, RESYNCS } from '../telemetry/metrics.js';
import type { MemberIndex } from '../member/member-index.js';
import { UnreadableChats } from '../member/unreadable-chats.js';
import type { ChatEvent, ChatEvents } from './chat-event.js';
import { Cleaning } from './cleaning.js';
import { RECHECK_MS } from './feeds.js';
import type { Feeds } from './feeds.js';
import { MutedChats } from './muted-chats.js';
import { Opening } from './opening.js';
import type { FollowingOptions } from './following-options.js';
import type { Position } from './resume-token.js';
import type { SeatOwner } from './seat-owner.js';
import { FETCH, Seat } from './seat.js';
import type { SeatEvent } from './supply.js';
import { TokenWriter } from './token-writer.js';
import { persist } from '../persist.js';

/** Pages that a follower fetches, or has fetched and not handed out, at a time. */
const MAX_PAGES = 4;
/**
 * A chat that was added to the index has the member soon, or never: its script refuses 30 s later. It is looked at when
 * something happens in it, and so long after it was added.
 */
const CHECKS_MS = [50, 250, 1_000, 5_000, 31_000];
const SETTLED_MS = 60_000;

const NO_BOOKMARKS = new Map<number, number>();
const DONE = { done: true, value: undefined } as const;

export class Following<Body> implements ChatEvents<Body>, SeatOwner, Listener {
  readonly member: string;
  readonly encodedMember: string;
  readonly #context: ChatsContext;
  readonly #feeds: Feeds;
  readonly #options: FollowingOptions;
  readonly #tokens: TokenWriter;
  readonly #seats = new Map<string, Seat>();
  /** Seats that may have something, in the order in which they come to it. */
  readonly #rung = new Set<Seat>();
  /** Seats that have a page, or wait for it. */
  readonly #paging = new Set<Seat>();
  /** Seats that need a page, and have to wait until another one is through with its own. */
  readonly #hungry = new Set<Seat>();
  /** How often a chat that doesn't have the member was looked at. */
  readonly #checks = new Map<Seat, { count: number; timer?: NodeJS.Timeout }>();
  /** When a chat was last added to the index, on the clock of `performance.now()`. */
  readonly #announced = new Map<string, number>();
  /** Entries of the index whose chats don't have the member. */
  readonly #dangling = new Map<string, number>();
  readonly #cleaning: Cleaning;
  readonly #opening = new Opening();
  readonly #muted = new MutedChats((chatId) => this.#seats.get(chatId)?.ring());
  #indexTimer: NodeJS.Timeout | undefined;
  #isIndexStale = false;
  /** From the beginning: what comes before the first reading is done is told by the second. */
  #isReadingIndex = true;
  #stop: (() => void) | undefined;
  #unlisten: (() => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #onRing: (() => void) | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isStarted = false;
  #isOver = false;

  constructor(context: ChatsContext, feeds: Feeds, index: MemberIndex, options: FollowingOptions) {
    this.#context = context;
    this.#feeds = feeds;
    this.#options = options;
    this.member = options.member;
    this.encodedMember = encodeName(options.member);
    this.#tokens = new TokenWriter(options.member);
    this.#cleaning = new Cleaning(index, options.member, (chatIds) => {
      for (const chatId of chatIds) this.#dangling.delete(chatId);
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next event. Calls are answered in their order. */
  next(): Promise<IteratorResult<ChatEvent<Body>, undefined>> {
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => undefined);
    return next;
  }

  open(): Promise<void> {
    if (!this.#isStarted) this.#start();
    const opened = this.#opening.wait();
    if (this.#isOver) this.#opening.end(this.#failure);
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

  ring(seat: Seat): void {
    if (this.#isOver) return;
    if (!seat.isCandidate) this.#opening.onPlaced(seat);
    this.#rung.add(seat);
    this.#onRing?.();
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.#close();
  }

  onBegun(seat: Seat): void {
    this.#tokens.onBegun(seat);
  }

  onJoined(chatId: string): void {
    this.#announce(chatId);
  }

  onAbsent(seat: Seat): void {
    this.#opening.onPlaced(seat);
    const check = this.#checks.get(seat);
    if (!check) {
      this.#drop(seat);
      if (this.#dangling.has(seat.chatId)) this.#cleaning.add(seat.chatId);
      return;
    }
    if (check.timer) return;
    const pauseMs = CHECKS_MS[check.count];
    if (pauseMs === undefined) {
      this.#drop(seat);
      return;
    }
    check.count += 1;
    check.timer = setTimeout(() => {
      delete check.timer;
      seat.look();
    }, pauseMs).unref();
  }

  onUnreadable(seat: Seat, cause: unknown): void {
    this.#opening.onPlaced(seat);
    UnreadableChats.of(this.#context).note(seat.chatId, cause, this.#options.unreadable);
  }

  /** What is said to all who follow the member. */
  onMessage(body: Buffer): void {
    const text = body.toString();
    if (text.startsWith('c')) this.#announce(decodeName(text.slice(1)));
    else this.#look();
  }

  onResync(): void {
    this.#context.tally?.count(RESYNCS, 1);
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
        this.#onRing = resolve;
      });
      this.#onRing = undefined;
    }
  }

  #start(): void {
    this.#isStarted = true;
    const { signal } = this.#options;
    if (signal?.aborted) {
      this.fail(signal.reason);
      return;
    }
    if (signal) this.#unlisten = onAbort(signal, () => this.fail(signal.reason));
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
    this.#opening.begin(this.#seats.values());
    this.#isReadingIndex = false;
    this.#checkIndexLater();
    if (this.#isIndexStale) this.#look();
  }

  /** Reads the index again, now or when the present reading is done. */
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
        const oldest = performance.now() - SETTLED_MS;
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
    this.#cleaning.onRead(now, muted);
    if (!this.#options.isMutedIncluded) this.#muted.set(muted);
    const positions = new Map(
      isFirst ? this.#options.places.positions.map((position) => [position.chatId, position]) : [],
    );
    const indexed = new Set<string>();
    for (let index = 0; index < entries.length; index += 2) {
      const chatId = decodeName(entries[index]!);
      const joinedAt = Number(entries[index + 1]);
      indexed.add(chatId);
      if (this.#dangling.get(chatId) === joinedAt || this.#seats.has(chatId)) continue;
      const isSettled = now - joinedAt > SETTLED_MS;
      if (isSettled) this.#dangling.set(chatId, joinedAt);
      this.#sit(chatId, { start: positions.get(chatId), isNewcomer: !isFirst, isSettled });
    }
    for (const chatId of this.#dangling.keys()) if (!indexed.has(chatId)) this.#dangling.delete(chatId);
    for (const start of positions.values()) {
      if (!indexed.has(start.chatId)) this.#sit(start.chatId, { start, isNewcomer: false, isSettled: true });
    }
  }

  /** @param isSettled Nobody is about to add the member to the chat. */
  #sit(
    chatId: string,
    options: { start: Position | undefined; isNewcomer: boolean; isSettled: boolean },
  ): void {
    const bookmarks = options.isNewcomer ? NO_BOOKMARKS : this.#options.places.bookmarks;
    const seat = new Seat(this, this.#feeds.open(chatId), { ...options, bookmarks });
    this.#seats.set(chatId, seat);
    if (!options.isSettled) this.#checks.set(seat, { count: 0 });
    if (options.start) this.#tokens.onStart(seat);
    seat.attach();
  }

  /** The chat was added to the index: the member is in it, or will be in a moment. */
  #announce(chatId: string): void {
    if (this.#isOver) return;
    if (!this.#indexTimer) {
      this.#isIndexStale = true;
      return;
    }
    // A mute ends with the membership, and that is not told; nor is `left` where nobody heard of it.
    if (this.#muted.has(chatId) || this.#isReadingIndex) this.#look();
    this.#announced.set(chatId, performance.now());
    this.#dangling.delete(chatId);
    const seat = this.#seats.get(chatId);
    if (seat?.isCandidate) {
      const check = this.#checks.get(seat);
      if (check) check.count = 0;
      else this.#checks.set(seat, { count: 0 });
      seat.look();
    }
    if (!seat) this.#sit(chatId, { start: undefined, isNewcomer: true, isSettled: false });
  }

  #drop(seat: Seat): void {
    clearTimeout(this.#checks.get(seat)?.timer);
    this.#checks.delete(seat);
    this.#rung.delete(seat);
    this.#hungry.delete(seat);
    this.#tokens.drop(seat);
    this.#feedNext(seat);
    if (this.#seats.get(seat.chatId) === seat) this.#seats.delete(seat.chatId);
    seat.detach();
  }

  #take(): ChatEvent<Body> | undefined {
    for (const seat of this.#rung) {
      this.#rung.delete(seat);
      const isMuted = this.#muted.has(seat.chatId);
      if (isMuted) seat.dropPage();
      const found = isMuted ? seat.takeEnd() : seat.take();
      if (!seat.hasPage) this.#feedNext(seat);
      if (found === FETCH) {
        if (this.#paging.size === MAX_PAGES) this.#hungry.add(seat);
        else {
          this.#paging.add(seat);
          void seat.fetch();
        }
      } else if (found) {
        return this.#event(seat, found);
      }
    }
    return undefined;
  }

  /** The seat is through with its page. */
  #feedNext(seat: Seat): void {
    if (!this.#paging.delete(seat)) return;
    for (const next of this.#hungry) {
      this.#hungry.delete(next);
      this.#rung.add(next);
      return;
    }
  }

  #event(seat: Seat, event: SeatEvent): ChatEvent<Body> {
    const { chatId } = seat;
    const { tally } = this.#context;
    tally?.count(FOLLOWED, 1, { 'mortise.messaging.event': event.type });
    if (event.type === 'gap') tally?.count(GAPS, 1);
    if (seat.isOver) {
      this.#drop(seat);
      const announcedAt = this.#announced.get(chatId) ?? -Infinity;
      if (announcedAt > performance.now() - SETTLED_MS) this.#announce(chatId);
      // The mute is over, too. They may have come back unheard; if not, the index is of no use there any more.
      this.#look();
    } else {
      // Behind the others: a busy chat doesn't keep them waiting.
      this.#rung.add(seat);
      this.#tokens.onMoved(seat);
    }
    // The seat has made it, for this.
    return Object.assign(event, { chatId, token: this.#tokens.token() }) as ChatEvent<Body>;
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isStarted = true;
    this.#unlisten?.();
    clearTimeout(this.#indexTimer);
    this.#cleaning.close();
    this.#muted.close();
    for (const { timer } of this.#checks.values()) clearTimeout(timer);
    this.#stop?.();
    for (const seat of this.#seats.values()) seat.detach();
    this.#seats.clear();
    this.#rung.clear();
    this.#hungry.clear();
    this.#tokens.clear();
    this.#opening.end(this.#failure);
    this.#onRing?.();
  }
}
