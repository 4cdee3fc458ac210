/**
 * What a process knows of one chat, for all followers that it has there: one subscription, one reading of where the chat
 * stands, and the tail, the newest frames that were pushed. A follower is a seat: a position in the tail. So a message
 * costs Redis one delivery to each process and is kept once, whoever reads it when.
 *
 * Nothing here is trusted to be complete. A seat takes from the tail only what follows on the id that it has delivered, and
 * fetches the rest from the log. When something may have been missed, a departure may be among it: then every seat learns anew
 * where its member stands before it takes anything. Rejected: a queue for each follower, whose bound is either small or takes memory 1,000 times.
 */
import type { Listener } from '@mortise/redis';
import { afterMicrotasks, ClientClosedError } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import type { ChatKeys } from '../keys.js';
import { entryId } from '../log/entry.js';
import { FETCHED, RESYNCS } from '../telemetry/metrics.js';
import { decodeFrames } from './frame.js';
import type { Frame } from './frame.js';
import type { Head, Heads, HeadReply } from './heads.js';
import type { Page } from './page.js';
import { readPage } from './page.js';
import type { Seat } from './seat.js';
import type { Since } from './since.js';
import { readSince } from './since.js';
import { isOfOneChat } from '../member/unreadable-chats.js';
import { persist } from '../persist.js';

/** The tail has so much at most; what a seat has not taken by then it fetches, if it is stored. */
const MAX_FRAMES = 64;
const MAX_CHARACTERS = 262_144;
/** A tail in which nothing has come for so long is given up. */
const TAIL_MS = 5_000;
/** A page is shared by those who ask for it within so long. */
const PAGE_MS = 1_000;
/** Members in one reading of where they stand. */
const MAX_MEMBERS = 1_000;
/** The beginning of an edit or a deletion. */
const REVISION = /^\d+:[ED]/;

export class ChatFeed implements Listener {
  readonly keys: ChatKeys;
  /** Of the numbering; 0 while it isn't known. */
  epoch = 0;
  /** The highest id that is known of. */
  lastId = 0;
  /** The highest id that was pushed. */
  heardId = 0;
  /** Goes up when the numbering begins anew or goes back: seats of an older one have to learn their place first. */
  generation = 0;
  /** Goes up when something has happened that a reading which is under way may not know of. */
  turns = 0;
  /** When it last was certain that nothing was missed, on the clock of `performance.now()`. */
  checkedAt = performance.now();
  readonly #context: ChatsContext;
  readonly #heads: Heads;
  readonly #onEmpty: (feed: ChatFeed) => void;
  readonly #seats = new Map<string, Set<Seat>>();
  readonly #pages = new Map<number, Promise<Page | undefined>>();
  /** Who waits for a reading of where they stand. */
  readonly #wanted = new Set<string>();
  /** Seats that have come since the reading that is under way was asked for. It may be from before a departure that none of them heard. */
  readonly #late = new Set<Seat>();
  #tail: Frame[] = [];
  #firstSeq = 0;
  #characters = 0;
  #pushedAt = 0;
  #stop: (() => void) | undefined;
  #isStale = false;
  #isReading = false;
  #isRecheck = false;
  #isOver = false;

  constructor(
    context: ChatsContext,
    heads: Heads,
    readonly chatId: string,
    onEmpty: (feed: ChatFeed) => void,
  ) {
    this.#context = context;
    this.#heads = heads;
    this.keys = context.keys.chat(chatId);
    this.#onEmpty = onEmpty;
  }

  /** The place of the next frame in the tail. */
  get endSeq(): number {
    return this.#firstSeq + this.#tail.length;
  }

  /** The place of the oldest frame that is there. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  frame(seq: number): Frame {
    return this.#tail[seq - this.#firstSeq]!;
  }

  /** Takes a seat in; it hears where it stands as soon as the chat is subscribed to. */
  attach(seat: Seat): void {
    const seats = this.#seats.get(seat.encodedMember);
    if (seats) seats.add(seat);
    else this.#seats.set(seat.encodedMember, new Set([seat]));
    this.#late.add(seat);
    this.look([seat.encodedMember]);
  }

  detach(seat: Seat): void {
    this.#late.delete(seat);
    const seats = this.#seats.get(seat.encodedMember);
    if (!seats?.delete(seat) || seats.size > 0) return;
    this.#seats.delete(seat.encodedMember);
    if (this.#seats.size > 0) return;
    this.#close();
    this.#onEmpty(this);
  }

  /** Reads where the chat stands, and where these members do: one command for all that want it in a tick. */
  look(members: Iterable<string>): void {
    for (const member of members) this.#wanted.add(member);
    this.#isStale = true;
    if (!this.#isReading) void this.#read();
  }

  /** Something is not as it should be: looks at everything. */
  doubt(): void {
    this.look(this.#seats.keys());
  }

  /** Nothing was heard for long. If there is news, then it wasn't pushed, and whoever knows what else was not. */
  recheck(): void {
    this.#isRecheck = true;
    this.look([]);
  }

  /** Where a member stands, and since when. One round trip for each that asks. */
  since(member: string): Promise<Since | undefined> {
    return persist(
      () => !this.#isOver,
      () => readSince(this.#context.redis, this.keys, member),
    );
  }

  /** Somebody in this process has acked. */
  acked(member: string, ackedId: number): void {
    for (const seat of this.#seats.get(member) ?? []) seat.acked(ackedId);
  }

  /** What the log has behind an id. One round trip for all that ask for it at about the same time. */
  page(after: number): Promise<Page | undefined> {
    const known = this.#pages.get(after);
    if (known) return known;
    const page = persist(
      () => !this.#isOver,
      () => readPage(this.#context.redis, this.keys, after),
    );
    this.#pages.set(after, page);
    this.#context.tally?.count(FETCHED, 1);
    const forget = (): void => {
      if (this.#pages.get(after) === page) this.#pages.delete(after);
    };
    const share = async (): Promise<void> => {
      const found = await page;
      if (found && (found.base > after || found.entries.length > 0)) setTimeout(forget, PAGE_MS).unref();
      else forget();
    };
    share().catch(forget);
    return page;
  }

  /** Gives up what nobody will want any more. Called now and then. */
  rest(now: number): void {
    if (this.#tail.length > 0 && now - this.#pushedAt > TAIL_MS) this.#clearTail();
  }

  onMessage(body: Buffer): void {
    this.#pushedAt = performance.now();
    this.checkedAt = this.#pushedAt;
    for (const frame of decodeFrames(body)) this.#hear(frame);
    for (const [member, seats] of this.#seats) {
      for (const seat of seats) {
        // Whatever has happened, somebody may have become a member by it.
        if (seat.isCandidate && !seat.isResting) this.look([member]);
        else seat.ring();
      }
    }
  }

  onResync(): void {
    this.#context.tally?.count(RESYNCS, 1);
    this.#distrust();
  }

  onClosed(): void {
    this.#fail(new ClientClosedError());
  }

  /** Something was missed: nobody is sure any more that their member is in the chat, or was all the time. */
  #distrust(): void {
    this.turns += 1;
    for (const seats of this.#seats.values()) for (const seat of seats) seat.doubt();
    this.doubt();
  }

  #hear(frame: Frame): void {
    const { kind, text } = frame;
    if (kind === 'm') {
      const id = entryId(text);
      // Nothing that a script of ours has said.
      if (!(id > 0)) {
        this.#distrust();
        return;
      }
      if (this.epoch !== 0 && id > this.lastId + 1) this.#distrust();
      // Known from reading, which has overtaken the push; or the ids began anew without a word.
      if (id <= this.lastId) this.look([]);
      this.lastId = Math.max(this.lastId, id);
      this.heardId = Math.max(this.heardId, id);
      // It has changed an entry that a page may have.
      if (REVISION.test(text)) this.#pages.clear();
    }
    this.#keep(frame);
    const seq = this.endSeq - 1;
    if (kind === 'j') for (const seat of this.#seats.get(text) ?? []) seat.joined();
    if (kind === 'l') this.#hearLeft(text, seq);
    if (kind !== 'x') return;
    for (const seats of this.#seats.values()) for (const seat of seats) seat.ended(seq);
    this.#renumber(0, 0);
  }

  #hearLeft(text: string, seq: number): void {
    const [member = '', lastId, ackedId] = text.split('\0');
    for (const seat of this.#seats.get(member) ?? []) {
      // Who is just looked for may be found by a reading from before.
      if (seat.isCandidate) this.turns += 1;
      else seat.left(seq, Number(lastId), Number(ackedId));
    }
  }

  #keep(frame: Frame): void {
    this.#tail.push(frame);
    this.#characters += frame.text.length;
    while (this.#tail.length > MAX_FRAMES || (this.#characters > MAX_CHARACTERS && this.#tail.length > 1)) {
      this.#characters -= this.#tail.shift()!.text.length;
      this.#firstSeq += 1;
    }
  }

  #clearTail(): void {
    this.#firstSeq = this.endSeq;
    this.#tail = [];
    this.#characters = 0;
  }

  #renumber(epoch: number, lastId: number): void {
    this.generation += 1;
    this.turns += 1;
    this.epoch = epoch;
    this.lastId = lastId;
    this.heardId = 0;
    this.#pages.clear();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      if (!this.#stop) await this.#subscribe();
      while (this.#isStale && !this.#isOver) {
        // Others may want it in the same tick.
        await new Promise<void>(afterMicrotasks);
        const members = [...this.#wanted].slice(0, MAX_MEMBERS);
        for (const member of members) this.#wanted.delete(member);
        this.#isStale = this.#wanted.size > 0;
        this.#late.clear();
        const { turns, lastId } = this;
        const reply = await persist(
          () => !this.#isOver,
          () => this.#heads.read(this.keys.chat, members),
        );
        if (!reply || this.#isOver) return;
        // Otherwise the chat has ended while it was read, say.
        if (turns === this.turns) this.#apply(members, reply, lastId);
        else this.look(members);
      }
    } catch (error) {
      if (isOfOneChat(error))
        for (const seats of this.#seats.values()) for (const seat of seats) seat.fail(error);
      else this.#fail(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #subscribe(): Promise<void> {
    const stop = await persist(
      () => !this.#isOver,
      () => this.#context.hub.listen(this.keys.events, this),
    );
    if (this.#isOver) stop?.();
    else this.#stop = stop;
  }

  /** @param knownId What was known before it was read: the chat cannot have less. */
  #apply(members: readonly string[], { head, cursors }: HeadReply, knownId: number): void {
    this.checkedAt = performance.now();
    if (!head) {
      this.#applyEnd();
      return;
    }
    const { epoch, lastId } = head;
    if (this.epoch !== 0 && (epoch !== this.epoch || lastId < knownId)) {
      this.#clearTail();
      this.#renumber(epoch, lastId);
      this.doubt();
    }
    const isNews = lastId > this.lastId;
    const isRecheck = this.#isRecheck && this.epoch !== 0;
    this.#isRecheck = false;
    this.epoch = epoch;
    this.lastId = Math.max(this.lastId, lastId);
    for (const [index, member] of members.entries()) {
      for (const seat of this.#seats.get(member) ?? []) this.#place(seat, head, cursors[index]);
    }
    if (isNews && isRecheck) this.#distrust();
    else if (isNews) for (const seats of this.#seats.values()) for (const seat of seats) seat.ring();
  }

  /** There is no such chat. What was pushed is kept for those who have not taken it. */
  #applyEnd(): void {
    this.#isRecheck = false;
    for (const seats of this.#seats.values())
      for (const seat of seats) this.#place(seat, undefined, undefined);
    if (this.epoch !== 0 || this.lastId > 0) this.#renumber(0, 0);
  }

  /** A seat that is late is told by the next reading, which it has asked for. */
  #place(seat: Seat, head: Head | undefined, cursor: number | undefined): void {
    if (!this.#late.has(seat)) seat.onHead(head, cursor);
  }

  #fail(error: unknown): void {
    const failed = Array.from(this.#seats.values(), (seats) => [...seats]).flat();
    this.#close();
    this.#onEmpty(this);
    this.#seats.clear();
    for (const seat of failed) seat.fail(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#stop?.();
    this.#pages.clear();
  }
}
