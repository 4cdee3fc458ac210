/** The place of one follower in one chat: what was delivered, and so what comes next. */
import { decodeName } from '@mortise/redis';
import { toChatMessage } from '../chat/chat-message.js';
import { entryId } from '../log/entry.js';
import type { ChatEvent } from './chat-event.js';
import type { ChatFeed } from './chat-feed.js';
import type { Frame } from './frame.js';
import type { Head } from './heads.js';
import type { Page } from './page.js';
import type { Position } from './resume-token.js';
import { encodeId, encodePlace, encodePosition } from './resume-token.js';

type Without<Event, Keys extends string> = Event extends unknown ? Omit<Event, Keys> : never;
/** What a seat knows of an event. */
export type SeatEvent = Without<ChatEvent, 'chatId' | 'token'>;

/** What a seat tells whose it is. */
export interface SeatOwner {
  readonly member: string;
  readonly encodedMember: string;
  /** There may be something to take. */
  ring(seat: Seat): void;
  /** The chat doesn't have the member, or not yet. */
  onAbsent(seat: Seat): void;
  /** The member has come (back) to the chat. */
  onJoined(chatId: string): void;
  fail(error: unknown): void;
}

/** What comes next has to be fetched first. */
export const FETCH = Symbol('fetch');

export class Seat {
  readonly chatId: string;
  readonly #owner: SeatOwner;
  readonly #feed: ChatFeed;
  readonly #isNewcomer: boolean;
  /** Of a token: where to begin. */
  #start: Position | undefined;
  #isLive = false;
  #epoch = 0;
  #generation = 0;
  #deliveredId = 0;
  #ackedId = 0;
  #seq: number;
  readonly #pending: SeatEvent[] = [];
  #page: Page | undefined;
  #pageAt = 0;
  #isFetching = false;
  #end: { readonly type: 'left' | 'ended'; readonly seq: number } | undefined;
  #isOver = false;
  #place: string | undefined;
  #position: string | undefined;

  constructor(
    owner: SeatOwner,
    feed: ChatFeed,
    { start, isNewcomer }: { start: Position | undefined; isNewcomer: boolean },
  ) {
    this.chatId = feed.chatId;
    this.#owner = owner;
    this.#feed = feed;
    this.#start = start;
    this.#isNewcomer = isNewcomer;
    this.#seq = feed.endSeq;
    if (start) this.#position = encodePosition(start);
  }

  get encodedMember(): string {
    return this.#owner.encodedMember;
  }

  /** Not known to be a member (yet). */
  get isCandidate(): boolean {
    return !this.#isLive && !this.#end;
  }

  /** The member is no more in the chat: what is left to take is how it ended. */
  get isEnding(): boolean {
    return this.#end !== undefined;
  }

  /** Everything was taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Holds a page, or waits for it. */
  get hasPage(): boolean {
    return this.#page !== undefined || this.#isFetching;
  }

  /** For a token; undefined when the cursor says it. */
  get position(): string | undefined {
    if (this.#isOver) return undefined;
    if (!this.#isLive) return this.#position;
    if (this.#deliveredId <= this.#ackedId) return undefined;
    this.#place ??= encodePlace(this.chatId, this.#epoch);
    this.#position ??= this.#place + encodeId(this.#deliveredId);
    return this.#position;
  }

  attach(): void {
    this.#feed.attach(this);
  }

  detach(): void {
    this.#feed.detach(this);
  }

  /** Reads (again) where the member stands. */
  look(): void {
    this.#feed.look([this.encodedMember]);
  }

  ring(): void {
    if (!this.#isFetching) this.#owner.ring(this);
  }

  fail(error: unknown): void {
    this.#owner.fail(error);
  }

  /** The member has acked up to an id. */
  acked(ackedId: number): void {
    this.#ackedId = Math.max(this.#ackedId, ackedId);
  }

  /** The chat says that the member has joined: again, or the chat is another one. */
  joined(): void {
    if (this.#end) this.#owner.onJoined(this.chatId);
    else if (this.#isLive) this.look();
  }

  /** @param seq What is in the tail before it is still delivered, if nothing is missing. */
  end(type: 'left' | 'ended', seq: number): void {
    if (this.#end) return;
    if (!this.#isLive) {
      // It may get a chat of the same name yet: the frames of this one, with their ids, are not of that.
      if (type === 'ended') this.#seq = seq + 1;
      return;
    }
    this.#end = { type, seq };
    this.#isFetching = false;
    this.ring();
  }

  /** Where the chat and the member stand; undefined: there is no chat, or it doesn't have the member. */
  onHead(head: Head | undefined, cursor: number | undefined): void {
    if (this.#end) return;
    if (!head || cursor === undefined) this.#onAbsent(head ? 'left' : 'ended');
    else if (!this.#isLive) this.#begin(head, cursor);
    else if (this.#generation !== this.#feed.generation) this.#reset(head, cursor);
    else this.acked(cursor);
    this.#isFetching = false;
    this.ring();
  }

  /** What comes next; undefined when that is nothing. */
  take(): SeatEvent | typeof FETCH | undefined {
    if (this.#isOver || this.#isFetching) return undefined;
    const pending = this.#pending.shift();
    if (pending) return pending;
    if (this.#end) return this.#takeLast(this.#end);
    if (!this.#isLive || this.#generation !== this.#feed.generation) return undefined;
    return this.#takeFromPage() ?? this.#takeFromTail(this.#feed.endSeq) ?? this.#lacks();
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
    this.#page = undefined;
    this.#isFetching = false;
  }

  /** Fetches what comes next; rings when it is there. */
  async fetch(): Promise<void> {
    this.#isFetching = true;
    const generation = this.#generation;
    try {
      const page = await this.#feed.page(this.#deliveredId);
      // It has ended or was reset meanwhile.
      if (!this.#isFetching || generation !== this.#feed.generation) return;
      const isUseful =
        page?.epoch === this.#epoch && (page.base > this.#deliveredId || page.entries.length > 0);
      // What is dropped is no gap where the member has acked it, which may have happened elsewhere.
      const mayBeGap = isUseful && page.base > Math.max(this.#deliveredId, this.#ackedId);
      if (isUseful) {
        this.#page = page;
        this.#pageAt = 0;
      }
      // Both end with `onHead`.
      if (mayBeGap) this.look();
      else if (!isUseful) this.#feed.doubt();
      else {
        this.#isFetching = false;
        this.ring();
      }
    } catch (error) {
      this.fail(error);
    }
  }

  #onAbsent(type: 'left' | 'ended'): void {
    if (!this.#isLive && !this.#start) {
      this.#owner.onAbsent(this);
      return;
    }
    this.#isLive = true;
    this.end(type, this.#feed.endSeq);
  }

  #begin({ epoch, lastId }: Head, cursor: number): void {
    const start = this.#start;
    const isHonoured = start !== undefined && start.epoch === epoch && start.id <= lastId;
    this.#start = undefined;
    this.#isLive = true;
    this.#generation = this.#feed.generation;
    this.#epoch = epoch;
    this.#ackedId = cursor;
    this.#deliver(isHonoured ? start.id : cursor);
    if (this.#isNewcomer) {
      this.#pending.push({ type: 'joined', member: this.#owner.member });
      // Who came and went before is nothing to the member.
      this.#seq = this.#feed.endSeq;
    }
    if (start && !isHonoured) this.#pending.push({ type: 'reset', epoch });
  }

  #reset({ epoch, lastId }: Head, cursor: number): void {
    this.#generation = this.#feed.generation;
    this.#epoch = epoch;
    this.#place = undefined;
    this.#ackedId = Math.min(cursor, lastId);
    this.#page = undefined;
    this.#deliver(this.#ackedId);
    this.#pending.push({ type: 'reset', epoch });
  }

  #takeLast(end: { readonly type: 'left' | 'ended'; readonly seq: number }): SeatEvent | undefined {
    return this.#takeFromPage() ?? this.#takeFromTail(end.seq) ?? this.takeEnd();
  }

  #takeFromPage(): SeatEvent | undefined {
    const page = this.#page;
    if (!page) return undefined;
    if (page.base > this.#deliveredId) {
      const fromId = Math.max(this.#deliveredId, this.#ackedId) + 1;
      this.#deliver(page.base);
      if (fromId <= page.base) return { type: 'gap', fromId, toId: page.base };
    }
    while (this.#pageAt < page.entries.length) {
      const entry = page.entries[this.#pageAt]!;
      this.#pageAt += 1;
      if (entryId(entry) !== this.#deliveredId + 1) continue;
      const event = this.#read(entry);
      if (event) return event;
    }
    this.#page = undefined;
    return undefined;
  }

  #takeFromTail(endSeq: number): SeatEvent | undefined {
    this.#seq = Math.max(this.#seq, this.#feed.firstSeq);
    while (this.#seq < endSeq) {
      const frame = this.#feed.frame(this.#seq);
      const id = frame.kind === 'm' ? entryId(frame.text) : 0;
      if (id > this.#deliveredId + 1) return undefined;
      this.#seq += 1;
      if (frame.kind === 'm' && id <= this.#deliveredId) continue;
      const event = frame.kind === 'm' ? this.#read(frame.text) : this.#tell(frame);
      if (event) return event;
    }
    return undefined;
  }

  #lacks(): typeof FETCH | undefined {
    return this.#deliveredId < this.#feed.lastId ? FETCH : undefined;
  }

  /** Undefined for the place of a message that was deleted. */
  #read(entry: string): SeatEvent | undefined {
    this.#deliver(entryId(entry));
    const message = toChatMessage(entry, this.#epoch);
    return message && { type: message.kind, message };
  }

  /** What others do. What the member does itself shows elsewhere. */
  #tell({ kind, text }: Frame): SeatEvent | undefined {
    const separator = text.indexOf('\0');
    const who = separator < 0 ? text : text.slice(0, separator);
    if (who === this.encodedMember) return undefined;
    const member = decodeName(who);
    if (kind === 'j') return { type: 'joined', member };
    if (kind === 'l') return { type: 'left', member };
    if (kind === 't') return { type: 'typing', member };
    if (kind === 'p') return { type: 'presence', member, status: decodeName(text.slice(separator + 1)) };
    return undefined;
  }

  #deliver(id: number): void {
    this.#deliveredId = id;
    this.#position = undefined;
  }
}
