/**
 * The place of one follower in one chat: whether its member is there, and so up to where it may be handed what was posted.
 *
 * A member may leave, and come back, while nobody hears it, and what was posted in between is not for them. So a seat takes
 * nothing above the ids of which it is certain that the member was there: what a reading of the member's cursor has covered, and
 * what was pushed since, where nothing was missed. When something was, it learns anew where the member stands. A cursor that
 * isn't above what was delivered proves that all is well, since everybody joins with a cursor at the newest id. Only
 * otherwise, and when the member comes to a chat, the chat is asked behind which id they joined, which takes a script.
 */
import { isOfOneChat } from '../member/unreadable-chats.js';
import type { ChatFeed } from './chat-feed.js';
import type { Head } from './heads.js';
import type { Position } from './resume-token.js';
import type { SeatOptions, SeatOwner } from './seat-owner.js';
import { encodePosition, hashPlace } from './resume-token.js';
import type { Since } from './since.js';
import type { Bounds, SeatEvent } from './supply.js';
import { Supply } from './supply.js';
import { TokenParts } from './token-parts.js';

/** How the chat ended for the member. A gap is told where it is certain what they had acked. */
interface End extends Bounds {
  readonly type: 'left' | 'ended';
  /** Whether the log is still there. */
  readonly isStored: boolean;
}

/** What comes next has to be fetched first. */
export const FETCH = Symbol('fetch');
/** A reading that doesn't find a member may be ahead of the push that tells why. */
const PUSH_MS = 1_000;
/** What can't be read is tried again after so long. */
const REST_MS = 5_000;

export class Seat {
  readonly chatId: string;
  readonly #owner: SeatOwner;
  readonly #feed: ChatFeed;
  readonly #supply: Supply;
  readonly #isNewcomer: boolean;
  readonly #bookmarks: ReadonlyMap<number, number>;
  /** Of a token: where to begin. */
  #start: Position | undefined;
  #isLive = false;
  /** Nothing was missed since it was known where the member stands. */
  #isSure = false;
  /** Up to this id they are certain to have been there; if the seat is sure, up to what was pushed. */
  #knownId = 0;
  /** The place in the tail up to which it was sure. */
  #knownSeq = 0;
  #generation = 0;
  readonly #pending: SeatEvent[] = [];
  #isFetching = false;
  /** Of the next look for a member who wasn't found. */
  #missing: NodeJS.Timeout | undefined;
  #end: End | undefined;
  #isOver = false;
  readonly #parts: TokenParts;
  /** What is stored can't be read: of the next try. */
  #resting: NodeJS.Timeout | undefined;

  constructor(owner: SeatOwner, feed: ChatFeed, { start, bookmarks, isNewcomer }: SeatOptions) {
    this.chatId = feed.chatId;
    this.#owner = owner;
    this.#feed = feed;
    this.#supply = new Supply(feed, owner.encodedMember);
    this.#parts = new TokenParts(feed.chatId);
    this.#start = start;
    this.#bookmarks = bookmarks;
    this.#isNewcomer = isNewcomer;
  }

  get encodedMember(): string {
    return this.#owner.encodedMember;
  }

  /** Not known to be a member (yet). */
  get isCandidate(): boolean {
    return !this.#isLive && !this.#end;
  }

  /** Everything was taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Waits for what is damaged to be mended. */
  get isResting(): boolean {
    return this.#resting !== undefined;
  }

  /** Holds a page, or waits for it. */
  get hasPage(): boolean {
    return this.#supply.hasPage || this.#isFetching;
  }

  /** For a token; undefined when the cursor says as much. */
  get position(): string | undefined {
    if (this.#isOver) return undefined;
    if (!this.#isLive) return this.#start && encodePosition(this.#start);
    const { epoch, deliveredId: id, ackedId } = this.#supply;
    return id > ackedId ? this.#parts.position(epoch, id) : undefined;
  }

  /** For a token, where the cursor says as much: of use when the member acks or posts elsewhere. Undefined when it isn't known. */
  get bookmark(): string | undefined {
    if (this.#isOver || !this.#isLive) return undefined;
    return this.#parts.bookmark(this.#supply.epoch, this.#supply.deliveredId);
  }

  /** Whether the token that it began with had a bookmark for it. */
  get wasBookmarked(): boolean {
    return this.#bookmarks.has(hashPlace(this.chatId, this.#supply.epoch));
  }

  attach(): void {
    this.#feed.attach(this);
  }

  detach(): void {
    clearTimeout(this.#missing);
    clearTimeout(this.#resting);
    this.#feed.detach(this);
  }

  /** Reads (again) where the member stands. */
  look(): void {
    this.#feed.look([this.encodedMember]);
  }

  ring(): void {
    if (!this.#isFetching) this.#owner.ring(this);
  }

  /** Ends the following; but what one chat is enough for only lets this seat rest, and then learn anew where it stands. */
  fail(error: unknown): void {
    if (!isOfOneChat(error)) {
      this.#owner.fail(error);
      return;
    }
    this.doubt();
    this.#supply.dropPage();
    this.#isFetching = false;
    if (this.#end) this.#supply.lose(this.#end.toId);
    else {
      clearTimeout(this.#resting);
      this.#resting = setTimeout(() => {
        this.#resting = undefined;
        this.look();
      }, REST_MS).unref();
    }
    this.#owner.onUnreadable(this, error);
    this.ring();
  }

  /** The member has acked up to an id. */
  acked(ackedId: number): void {
    this.#supply.acked(ackedId);
  }

  /** The chat says that the member has joined: again, or the chat is another one. */
  joined(): void {
    if (this.#isLive && !this.#end) {
      this.doubt();
      this.look();
    }
    this.#owner.onJoined(this.chatId);
  }

  /** The chat says that the member has left, behind an id and with a cursor. What was pushed before it is in the tail. */
  left(endSeq: number, toId: number, ackedId: number): void {
    if (this.#end || !this.#isLive) return;
    this.acked(ackedId);
    // They may have come back before that, with a cursor up to this one.
    if (!this.#isSure && !this.#missing) this.#supply.passTo(ackedId);
    this.#finish({ type: 'left', endSeq, toId, isStored: true, isGapTold: true });
  }

  /** The chat says that it is gone. */
  ended(seq: number): void {
    if (this.#end) return;
    // It may get a chat of the same name yet: the frames of this one, with their ids, are not of that.
    if (!this.#isLive) this.#supply.passFrames(seq + 1);
    else {
      this.doubt();
      this.#finishUnheard('ended');
    }
  }

  /** Something was missed: until the next reading it isn't certain that the member is there, or was all the time. */
  doubt(): void {
    clearTimeout(this.#missing);
    this.#missing = undefined;
    if (!this.#isSure) return;
    this.#knownId = this.#certainId;
    this.#knownSeq = this.#feed.endSeq;
    this.#isSure = false;
  }

  /** Where the chat and the member stand; undefined: there is no chat, or it doesn't have the member. */
  onHead(head: Head | undefined, cursor: number | undefined): void {
    if (this.#end) return;
    if (!head || cursor === undefined) this.#onAbsent(head ? 'left' : 'ended');
    else if (this.#isLive && this.#generation !== this.#feed.generation) this.#reset(head, cursor);
    else if (!this.#isSure && this.#placeIn(head, cursor) < cursor) void this.#ask();
    // What came since they joined is theirs, also what they have posted or acked elsewhere before this was read.
    else if (!this.#isLive && this.#isNewcomer && cursor > 0) void this.#ask();
    else this.#settle(head, cursor);
  }

  /** What comes next; undefined when that is nothing. */
  take(): SeatEvent | typeof FETCH | undefined {
    if (this.#isOver || this.#isFetching) return undefined;
    const pending = this.#pending.shift();
    if (pending) return pending;
    try {
      if (this.#end) return this.#takeLast(this.#end);
      if (!this.#isSure || this.#generation !== this.#feed.generation) return undefined;
      const toId = this.#certainId;
      const event = this.#supply.next({ toId, endSeq: this.#feed.endSeq, isGapTold: true });
      return event ?? (this.#supply.deliveredId < toId ? FETCH : undefined);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  /** How it ended, whatever was left to take. Undefined when it has not ended. */
  takeEnd(): SeatEvent | undefined {
    if (!this.#end || this.#isOver) return undefined;
    this.#isOver = true;
    const { type } = this.#end;
    return type === 'left' ? { type, member: this.#owner.member } : { type };
  }

  /** Gives up what was fetched: it is fetched again when it is wanted. */
  dropPage(): void {
    this.#supply.dropPage();
    this.#isFetching = false;
  }

  /** Fetches what comes next; rings when it is there. */
  async fetch(): Promise<void> {
    this.#isFetching = true;
    try {
      const page = await this.#feed.page(this.#supply.deliveredId);
      // It has ended or was reset meanwhile.
      if (!this.#isFetching) return;
      const isUseful = this.#supply.accept(page);
      if (this.#end) {
        if (!isUseful) this.#supply.lose(this.#end.toId);
      } else if (this.#generation !== this.#feed.generation) {
        return;
      } else if (!isUseful) {
        // Ends with `onHead`.
        this.#feed.doubt();
        return;
      } else if (this.#supply.hasGap) {
        // As this does. What is dropped is no gap where the member has acked it, which may have happened elsewhere.
        this.look();
        return;
      }
      this.#isFetching = false;
      this.ring();
    } catch (error) {
      this.fail(error);
    }
  }

  /** The highest id that is for the member for certain. */
  get #certainId(): number {
    return this.#isSure ? Math.max(this.#knownId, this.#feed.heardId) : this.#knownId;
  }

  #onAbsent(type: 'left' | 'ended'): void {
    if (!this.#isLive) {
      this.#supply.passFrames(this.#feed.endSeq);
      if (this.#start) this.#finishUnheard(type);
      else this.#owner.onAbsent(this);
    } else if (this.#isSure) {
      this.doubt();
      this.#missing = setTimeout(() => this.look(), PUSH_MS).unref();
    } else {
      this.#finishUnheard(type);
    }
  }

  /** It ended, and when isn't known: what was heard while the member was there is still theirs. */
  #finishUnheard(type: 'left' | 'ended'): void {
    const isStored = type === 'left';
    const bounds = { toId: this.#knownId, endSeq: this.#knownSeq, isGapTold: !isStored };
    this.#finish({ type, isStored, ...bounds });
  }

  #finish(end: End): void {
    clearTimeout(this.#missing);
    this.#end = end;
    this.#isFetching = false;
    this.ring();
  }

  /** What was delivered before, as the seat or a token knows; without either the cursor, behind which it begins. */
  #placeIn({ epoch, lastId }: Head, cursor: number): number {
    if (this.#isLive) return this.#supply.deliveredId;
    const start = this.#start;
    if (start) return start.epoch === epoch && start.id <= lastId ? start.id : cursor;
    return Math.min(cursor, this.#bookmarks.get(hashPlace(this.chatId, epoch)) ?? cursor);
  }

  /** The member has acked more than was delivered: elsewhere; or by joining, so that what was posted before isn't theirs. */
  async #ask(): Promise<void> {
    const { turns } = this.#feed;
    try {
      const since = await this.#feed.since(this.encodedMember);
      if (this.#end) return;
      // They have left, or may have since: the next reading tells.
      if (!since || turns !== this.#feed.turns) this.look();
      else this.#settle(since.head, since.cursor, since);
    } catch (error) {
      this.fail(error);
    }
  }

  /** It is certain where the member stands. */
  #settle(
    head: Head,
    cursor: number,
    { joinedId, baseId }: Pick<Since, 'joinedId' | 'baseId'> = NOTHING,
  ): void {
    const isNew = !this.#isLive && this.#isNewcomer;
    const deliveredId = isNew ? Math.min(cursor, Math.max(joinedId, baseId)) : this.#placeIn(head, cursor);
    const isBack = joinedId > deliveredId;
    clearTimeout(this.#missing);
    this.#missing = undefined;
    if (!this.#isLive) this.#begin(head, cursor, isBack ? joinedId : deliveredId, isBack);
    else if (isBack) {
      this.#finishUnheard('left');
      this.#owner.onJoined(this.chatId);
      return;
    }
    this.acked(cursor);
    // A reading may be from behind an interruption that is not told yet. The cursor proves that it is not, or does no harm.
    if (!this.#isSure || cursor <= this.#supply.deliveredId)
      this.#knownId = Math.max(this.#knownId, head.lastId);
    this.#isSure = true;
    // What they have acked and nobody has stored any more.
    this.#supply.passTo(Math.min(baseId, cursor));
    this.#isFetching = false;
    this.#owner.onBegun(this);
    this.ring();
  }

  #begin({ epoch, lastId }: Head, cursor: number, fromId: number, isBack: boolean): void {
    const start = this.#start;
    const { member } = this.#owner;
    this.#start = undefined;
    this.#isLive = true;
    this.#generation = this.#feed.generation;
    this.#supply.begin(epoch, fromId, cursor);
    if (isBack) this.#pending.push({ type: 'left', member });
    if (isBack || this.#isNewcomer) this.#pending.push({ type: 'joined', member });
    // Who came and went before is nothing to the member.
    if (this.#isNewcomer) this.#supply.passFrames(this.#feed.endSeq);
    const isHonoured = start?.epoch === epoch && start.id <= lastId;
    if (start && !isHonoured) this.#pending.push({ type: 'reset', epoch });
  }

  #reset({ epoch, lastId }: Head, cursor: number): void {
    const ackedId = Math.min(cursor, lastId);
    this.#generation = this.#feed.generation;
    this.#isSure = true;
    this.#knownId = lastId;
    this.#supply.begin(epoch, ackedId, ackedId);
    this.#pending.push({ type: 'reset', epoch });
    this.#isFetching = false;
    this.ring();
  }

  /** What is for the member and can be had comes first. */
  #takeLast(end: End): SeatEvent | typeof FETCH | undefined {
    for (;;) {
      const event = this.#supply.next(end);
      if (event) return event;
      if (this.#supply.deliveredId >= end.toId) return this.takeEnd();
      if (end.isStored) return FETCH;
      this.#supply.lose(end.toId);
    }
  }
}

const NOTHING = { joinedId: 0, baseId: 0 } as const;
