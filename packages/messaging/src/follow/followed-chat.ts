/**
 * One chat of one subscription: whether its member is in the chat, and up to which id they may read.
 *
 * A member may leave and come back unnoticed, and messages of the time between are not for them. So it delivers only ids for
 * which the membership is certain. A read of the cursor covers them, or they were pushed since then without an interruption.
 * After an interruption it reads the cursor again. A cursor that isn't above the last delivered id proves an uninterrupted
 * membership, since a join sets the cursor to the newest id. Otherwise, and after a join, a script reads the id after which
 * the member joined.
 */
import { isOfOneChat } from '../pull/unreadable-chats.js';
import type { ChatFeed } from './chat-feed.js';
import type { ChatFollower, FollowedChatOptions } from './chat-follower.js';
import type { Head } from './chat-heads.js';
import { EncodedPosition } from './encoded-position.js';
import type { Bounds, BufferedEvent } from './event-buffer.js';
import { EventBuffer } from './event-buffer.js';
import type { FeedFollower } from './feed-follower.js';
import type { Membership } from './membership.js';
import type { Position } from './resume-token.js';
import { encodePosition } from './resume-token.js';

/** The end of the chat for the member. A gap is reported if their acks are known for certain. */
interface End extends Bounds {
  readonly type: 'left' | 'ended';
  /** Whether the log is still there. */
  readonly isStored: boolean;
}

/** The next event has to be fetched first. */
export const FETCH = Symbol('fetch');
/** A read that doesn't find the member may overtake the push that explains it. */
const PUSH_MS = 1_000;
/** A damaged chat is tried again after this time. */
const RETRY_MS = 5_000;

export class FollowedChat implements FeedFollower {
  readonly chatId: string;
  readonly #follower: ChatFollower<FollowedChat>;
  readonly #feed: ChatFeed;
  readonly #buffer: EventBuffer;
  readonly #isNewcomer: boolean;
  /** The position of the token. */
  #start: Position | undefined;
  #isLive = false;
  /** Whether nothing was missed since the cursor was read. */
  #isSure = false;
  /** The membership is certain up to this id; while `#isSure`, up to the last pushed id. */
  #knownId = 0;
  /** The place in the tail up to which it was certain. */
  #knownSeq = 0;
  #generation = 0;
  readonly #pending: BufferedEvent[] = [];
  #isFetching = false;
  /** The timer of the next read for a member who was not found. */
  #absence: NodeJS.Timeout | undefined;
  #end: End | undefined;
  #isOver = false;
  readonly #position: EncodedPosition;
  /** The timer of the next try to read damaged data. */
  #retry: NodeJS.Timeout | undefined;

  constructor(
    follower: ChatFollower<FollowedChat>,
    feed: ChatFeed,
    { start, isNewcomer }: FollowedChatOptions,
  ) {
    this.chatId = feed.chatId;
    this.#follower = follower;
    this.#feed = feed;
    this.#buffer = new EventBuffer(feed, follower.encodedMember);
    this.#position = new EncodedPosition(feed.chatId);
    this.#start = start;
    this.#isNewcomer = isNewcomer;
  }

  get encodedMember(): string {
    return this.#follower.encodedMember;
  }

  /** Whether the membership is not known yet. */
  get isCandidate(): boolean {
    return !this.#isLive && !this.#end;
  }

  /** Whether the last event was taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it waits for the repair of damaged data. */
  get isUnreadable(): boolean {
    return this.#retry !== undefined;
  }

  /** Whether it has a page, or waits for one. */
  get hasPage(): boolean {
    return this.#buffer.hasPage || this.#isFetching;
  }

  /** Whether more was delivered than the member is known to have acked. */
  get isAhead(): boolean {
    if (this.#isOver) return false;
    return this.#isLive ? this.#buffer.deliveredId > this.#buffer.ackedId : this.#start !== undefined;
  }

  /** The position for a token; undefined if unknown. */
  get position(): string | undefined {
    if (this.#isOver) return undefined;
    if (!this.#isLive) return this.#start && encodePosition(this.#start);
    return this.#position.at(this.#buffer.epoch, this.#buffer.deliveredId);
  }

  attach(): void {
    this.#feed.attach(this);
  }

  detach(): void {
    clearTimeout(this.#absence);
    clearTimeout(this.#retry);
    this.#feed.detach(this);
  }

  /** Reads the cursor of the member (again). */
  look(): void {
    this.#feed.look([this.encodedMember]);
  }

  wake(): void {
    if (!this.#isFetching) this.#follower.wake(this);
  }

  /** Ends the subscription; an error of this chat alone only pauses it until the cursor is read again. */
  fail(error: unknown): void {
    if (!isOfOneChat(error)) {
      this.#follower.fail(error);
      return;
    }
    this.doubt();
    this.#buffer.dropPage();
    this.#isFetching = false;
    if (this.#end) this.#buffer.lose(this.#end.toId);
    else {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.look();
      }, RETRY_MS).unref();
    }
    this.#follower.onUnreadable(this, error);
    this.wake();
  }

  /** The member has acked up to an id. */
  acked(ackedId: number): void {
    this.#buffer.acked(ackedId);
  }

  /** The chat has published that the member joined: again, or a later chat of the name. */
  joined(): void {
    if (this.#isLive && !this.#end) {
      this.doubt();
      this.look();
    }
    this.#follower.onJoined(this.chatId);
  }

  /** The chat has published that the member left, after an id and with a cursor. Earlier frames are in the tail. */
  left(endSeq: number, toId: number, ackedId: number): void {
    if (this.#end || !this.#isLive) return;
    this.acked(ackedId);
    // The member may have joined again before this leave, with a cursor up to this one.
    if (!this.#isSure && !this.#absence) this.#buffer.passTo(ackedId);
    this.#finish({ type: 'left', endSeq, toId, isStored: true, reportGap: true });
  }

  /** The chat has published its end. */
  ended(seq: number): void {
    if (this.#end) return;
    // The member may join a later chat of the same name: skip the frames of this one.
    if (!this.#isLive) this.#buffer.passFrames(seq + 1);
    else {
      this.doubt();
      this.#finishUnnoticed('ended');
    }
  }

  /** Something may have been missed: the membership is uncertain until the cursor is read again. */
  doubt(): void {
    clearTimeout(this.#absence);
    this.#absence = undefined;
    if (!this.#isSure) return;
    this.#knownId = this.#certainId;
    this.#knownSeq = this.#feed.endSeq;
    this.#isSure = false;
  }

  /** Handles the head and the cursor; undefined: no such chat, or the member is not in it. */
  onHead(head: Head | undefined, cursor: number | undefined): void {
    if (this.#end) return;
    if (!head || cursor === undefined) this.#onAbsent(head ? 'left' : 'ended');
    else if (this.#isLive && this.#generation !== this.#feed.generation) this.#reset(head, cursor);
    else if (!this.#isSure && this.#deliveredIn(head, cursor) < cursor) void this.#readMembership();
    // Entries since the join are for them, also those that they posted or acked elsewhere before this read.
    else if (!this.#isLive && this.#isNewcomer && cursor > 0) void this.#readMembership();
    else this.#place(head, cursor);
  }

  /** The next event; undefined when there is none. */
  take(): BufferedEvent | typeof FETCH | undefined {
    if (this.#isOver || this.#isFetching) return undefined;
    const pending = this.#pending.shift();
    if (pending) return pending;
    try {
      if (this.#end) return this.#takeLast(this.#end);
      if (!this.#isSure || this.#generation !== this.#feed.generation) return undefined;
      const toId = this.#certainId;
      const event = this.#buffer.next({ toId, endSeq: this.#feed.endSeq, reportGap: true });
      return event ?? (this.#buffer.deliveredId < toId ? FETCH : undefined);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  /** The last event, skipping all others. Undefined when the chat has not ended. */
  takeEnd(): BufferedEvent | undefined {
    if (!this.#end || this.#isOver) return undefined;
    this.#isOver = true;
    const { type } = this.#end;
    return type === 'left' ? { type, member: this.#follower.member } : { type };
  }

  /** Drops the fetched page, to be fetched again later. */
  dropPage(): void {
    this.#buffer.dropPage();
    this.#isFetching = false;
  }

  /** Fetches the next page, and wakes the subscription. */
  async fetch(): Promise<void> {
    this.#isFetching = true;
    try {
      const page = await this.#feed.page(this.#buffer.deliveredId);
      // The chat has ended, or was reset, meanwhile.
      if (!this.#isFetching) return;
      const isUseful = this.#buffer.accept(page);
      if (this.#end) {
        if (!isUseful) this.#buffer.lose(this.#end.toId);
      } else if (this.#generation !== this.#feed.generation) {
        return;
      } else if (!isUseful) {
        // The read started here ends the fetch.
        this.#feed.doubt();
        return;
      } else if (this.#buffer.hasGap) {
        // The read started here ends the fetch too. Dropped entries are not a gap if the member has acked them elsewhere.
        this.look();
        return;
      }
      this.#isFetching = false;
      this.wake();
    } catch (error) {
      this.fail(error);
    }
  }

  /** The highest id that the member may certainly read. */
  get #certainId(): number {
    return this.#isSure ? Math.max(this.#knownId, this.#feed.pushedId) : this.#knownId;
  }

  #onAbsent(type: 'left' | 'ended'): void {
    if (!this.#isLive) {
      this.#buffer.passFrames(this.#feed.endSeq);
      if (this.#start) this.#finishUnnoticed(type);
      else this.#follower.onAbsent(this);
    } else if (this.#isSure) {
      this.doubt();
      this.#absence = setTimeout(() => this.look(), PUSH_MS).unref();
    } else {
      this.#finishUnnoticed(type);
    }
  }

  /** The membership ended at an unknown id: entries up to the last certain id are still for the member. */
  #finishUnnoticed(type: 'left' | 'ended'): void {
    const isStored = type === 'left';
    const bounds = { toId: this.#knownId, endSeq: this.#knownSeq, reportGap: !isStored };
    this.#finish({ type, isStored, ...bounds });
  }

  #finish(end: End): void {
    clearTimeout(this.#absence);
    this.#end = end;
    this.#isFetching = false;
    this.wake();
  }

  /** The last delivered id, of this chat or of the token; otherwise the cursor. */
  #deliveredIn({ epoch, lastId }: Head, cursor: number): number {
    if (this.#isLive) return this.#buffer.deliveredId;
    const start = this.#start;
    return start?.epoch === epoch && start.id <= lastId ? start.id : cursor;
  }

  /** The cursor is above the last delivered id: the member has acked elsewhere, or has joined again. */
  async #readMembership(): Promise<void> {
    const { changes } = this.#feed;
    try {
      const membership = await this.#feed.membership(this.encodedMember);
      if (this.#end) return;
      // They have left, or may have left since: the next read tells.
      if (!membership || changes !== this.#feed.changes) this.look();
      else this.#place(membership.head, membership.cursor, membership);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The position of the member is certain. */
  #place(
    head: Head,
    cursor: number,
    { joinedId, baseId }: Pick<Membership, 'joinedId' | 'baseId'> = NOTHING,
  ): void {
    const isNew = !this.#isLive && this.#isNewcomer;
    const deliveredId = isNew
      ? Math.min(cursor, Math.max(joinedId, baseId))
      : this.#deliveredIn(head, cursor);
    const isBack = joinedId > deliveredId;
    clearTimeout(this.#absence);
    this.#absence = undefined;
    if (!this.#isLive) this.#begin(head, cursor, isBack ? joinedId : deliveredId, isBack);
    else if (isBack) {
      this.#finishUnnoticed('left');
      this.#follower.onJoined(this.chatId);
      return;
    }
    this.acked(cursor);
    // The read may follow an unreported interruption, unless the cursor proves otherwise.
    if (!this.#isSure || cursor <= this.#buffer.deliveredId)
      this.#knownId = Math.max(this.#knownId, head.lastId);
    this.#isSure = true;
    // Entries that they have acked and that are no longer stored.
    this.#buffer.passTo(Math.min(baseId, cursor));
    this.#isFetching = false;
    this.#follower.onBegun(this);
    this.wake();
  }

  #begin({ epoch, lastId }: Head, cursor: number, fromId: number, isBack: boolean): void {
    const start = this.#start;
    const { member } = this.#follower;
    this.#start = undefined;
    this.#isLive = true;
    this.#generation = this.#feed.generation;
    this.#buffer.begin(epoch, fromId, cursor);
    if (isBack) this.#pending.push({ type: 'left', member });
    if (isBack || this.#isNewcomer) this.#pending.push({ type: 'joined', member });
    // Joins and leaves before their own are not for the member.
    if (this.#isNewcomer) this.#buffer.passFrames(this.#feed.endSeq);
    const isHonoured = start?.epoch === epoch && start.id <= lastId;
    if (start && !isHonoured) this.#pending.push({ type: 'reset', epoch });
  }

  #reset({ epoch, lastId }: Head, cursor: number): void {
    const ackedId = Math.min(cursor, lastId);
    this.#generation = this.#feed.generation;
    this.#isSure = true;
    this.#knownId = lastId;
    this.#buffer.begin(epoch, ackedId, ackedId);
    this.#pending.push({ type: 'reset', epoch });
    this.#isFetching = false;
    this.wake();
  }

  /** Delivers the stored entries for the member before the end. */
  #takeLast(end: End): BufferedEvent | typeof FETCH | undefined {
    for (;;) {
      const event = this.#buffer.next(end);
      if (event) return event;
      if (this.#buffer.deliveredId >= end.toId) return this.takeEnd();
      if (end.isStored) return FETCH;
      this.#buffer.lose(end.toId);
    }
  }
}

const NOTHING = { joinedId: 0, baseId: 0 } as const;
