/** The next event of one chat for one subscription: from a fetched page, or from the tail of pushed frames. */
import { decodeName } from '@mortise/redis';
import { toChatMessage } from '../log/chat-message.js';
import { entryId } from '../log/entry.js';
import type { ChatEvent } from './chat-event.js';
import type { ChatFeed } from './chat-feed.js';
import type { Frame } from './frame.js';
import type { Page } from './page.js';

type Without<Event, Keys extends string> = Event extends unknown ? Omit<Event, Keys> : never;
/** An event without the fields that the subscription adds. */
export type BufferedEvent = Without<ChatEvent, 'chatId' | 'token'>;

/** Limits for `next`. */
export interface Bounds {
  /** The highest id that the member may read. */
  readonly toId: number;
  /** The place in the tail after the member's last frame. */
  readonly endSeq: number;
  /** Whether dropped ids are reported unless they are known to be acked. */
  readonly reportGap: boolean;
}

export class EventBuffer {
  /** The epoch of the ids. */
  epoch = 0;
  readonly #feed: ChatFeed;
  readonly #encodedMember: string;
  #deliveredId = 0;
  #ackedId = 0;
  #seq: number;
  #page: Page | undefined;
  #pageAt = 0;

  constructor(feed: ChatFeed, encodedMember: string) {
    this.#feed = feed;
    this.#encodedMember = encodedMember;
    this.#seq = feed.endSeq;
  }

  /** The last id that was delivered. */
  get deliveredId(): number {
    return this.#deliveredId;
  }

  /** The highest id that the member is known to have acked. */
  get ackedId(): number {
    return this.#ackedId;
  }

  get hasPage(): boolean {
    return this.#page !== undefined;
  }

  /** Begins (again) after an id. */
  begin(epoch: number, deliveredId: number, ackedId: number): void {
    this.epoch = epoch;
    this.#deliveredId = deliveredId;
    this.#ackedId = ackedId;
    this.#page = undefined;
  }

  acked(id: number): void {
    this.#ackedId = Math.max(this.#ackedId, id);
  }

  /** Entries up to an id need no delivery. */
  passTo(id: number): void {
    this.#deliveredId = Math.max(this.#deliveredId, id);
  }

  /** Skips the frames before a place in the tail. */
  passFrames(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  /** Accepts a page if it continues after the last delivered id. */
  accept(page: Page | undefined): boolean {
    if (page?.epoch !== this.epoch) return false;
    if (page.base <= this.#deliveredId && page.entries.length === 0) return false;
    this.#page = page;
    this.#pageAt = 0;
    return true;
  }

  /** Everything undelivered up to an id is lost. */
  lose(toId: number): void {
    this.accept({ epoch: this.epoch, lastId: toId, base: toId, entries: [] });
  }

  dropPage(): void {
    this.#page = undefined;
  }

  /** Whether the page begins after dropped ids that are not known to be acked. */
  get hasGap(): boolean {
    return this.#page !== undefined && this.#page.base > Math.max(this.#deliveredId, this.#ackedId);
  }

  /** Undefined when the next event must be fetched or does not exist. */
  next(bounds: Bounds): BufferedEvent | undefined {
    return this.#takeFromPage(bounds) ?? this.#takeFromTail(bounds.endSeq);
  }

  #takeFromPage(bounds: Bounds): BufferedEvent | undefined {
    const page = this.#page;
    if (!page) return undefined;
    if (page.base > this.#deliveredId) {
      const fromId = Math.max(this.#deliveredId, this.#ackedId) + 1;
      // Pushed entries are still in the tail.
      const toId = Math.min(page.base, bounds.toId, this.#nextPushedId(bounds.endSeq) - 1);
      if (toId < page.base) this.#page = undefined;
      this.passTo(toId);
      if (bounds.reportGap && fromId <= toId) return { type: 'gap', epoch: this.epoch, fromId, toId };
    }
    while (this.#page && this.#pageAt < page.entries.length) {
      const entry = page.entries[this.#pageAt]!;
      const id = entryId(entry);
      if (id > this.#deliveredId + 1 || Number.isNaN(id))
        throw new SyntaxError(`no entry has the id ${this.#deliveredId + 1}`);
      if (id > bounds.toId) break;
      this.#pageAt += 1;
      if (id <= this.#deliveredId) continue;
      const event = this.#read(entry);
      if (event) return event;
    }
    this.#page = undefined;
    return undefined;
  }

  /** The id of the next message in the tail. */
  #nextPushedId(endSeq: number): number {
    for (let seq = Math.max(this.#seq, this.#feed.firstSeq); seq < endSeq; seq += 1) {
      const { kind, text } = this.#feed.frame(seq);
      if (kind === 'm' && entryId(text) > this.#deliveredId) return entryId(text);
    }
    return Infinity;
  }

  #takeFromTail(endSeq: number): BufferedEvent | undefined {
    this.#seq = Math.max(this.#seq, this.#feed.firstSeq);
    while (this.#seq < endSeq) {
      const frame = this.#feed.frame(this.#seq);
      const id = frame.kind === 'm' ? entryId(frame.text) : 0;
      if (id > this.#deliveredId + 1) return undefined;
      this.#seq += 1;
      if (frame.kind === 'm' && id <= this.#deliveredId) continue;
      const event = frame.kind === 'm' ? this.#read(frame.text) : this.#toEvent(frame);
      if (event) return event;
    }
    return undefined;
  }

  /** Undefined for a tombstone. */
  #read(entry: string): BufferedEvent | undefined {
    const message = toChatMessage(entry, this.epoch, this.#feed.codecs);
    this.#deliveredId = entryId(entry);
    return message && { type: message.kind, epoch: this.epoch, message };
  }

  /** An event of another member; undefined for the member's own, which the subscription reports. */
  #toEvent({ kind, text }: Frame): BufferedEvent | undefined {
    const [name = '', status = ''] = text.split('\0');
    if (name === this.#encodedMember) return undefined;
    const member = decodeName(name);
    if (kind === 'j') return { type: 'joined', member };
    if (kind === 'l') return { type: 'left', member };
    if (kind === 't') return { type: 'typing', member };
    if (kind === 'p') return { type: 'presence', member, status: decodeName(status) };
    return undefined;
  }
}
