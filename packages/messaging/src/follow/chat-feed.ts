/**
 * The state of one chat for all followers in this process: one subscription, one read of its head, and the tail: the newest pushed
 * frames. A follower is a position in the tail. So a push costs Redis one delivery for each process, and is kept once.
 *
 * The tail may have gaps. A follower takes an entry from it only if the entry has the next id; it fetches all others from
 * the log. After an interruption a leave may have been missed: then each follower reads its cursor again before it
 * takes anything. Rejected: a queue for each follower, which is either small or needs the memory 1,000 times.
 */
import type { Codecs, Listener } from '@mortise/redis';
import { afterMicrotasks, ClientClosedError } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import type { ChatKeys } from '../keys.js';
import { entryId } from '../log/entry.js';
import { FETCHED, RESYNCS } from '../telemetry/metrics.js';
import { decodeFrames } from './frame.js';
import type { Frame } from './frame.js';
import type { ChatHeads, Head, HeadReply } from './chat-heads.js';
import type { FeedFollower } from './feed-follower.js';
import type { Page } from './page.js';
import { readPage } from './page.js';
import type { Membership } from './membership.js';
import { readMembership } from './membership.js';
import { isOfOneChat } from '../pull/unreadable-chats.js';
import { persist } from '../persist.js';

/** Limits of the tail. A slow follower fetches the older entries, while they are stored. */
const MAX_FRAMES = 64;
const MAX_CHARACTERS = 262_144;
/** The tail of a silent chat is dropped after this time. */
const TAIL_MS = 5_000;
/** Followers share a page that they ask for within this time. */
const PAGE_MS = 1_000;
/** Members in one read of cursors. */
const MAX_MEMBERS = 1_000;
/** The beginning of an edit or a deletion. */
const REVISION = /^\d+:[ED]/;

export class ChatFeed implements Listener {
  readonly keys: ChatKeys;
  /** 0 while it isn't known. */
  epoch = 0;
  /** The highest known id. */
  lastId = 0;
  /** The highest id that was pushed. */
  pushedId = 0;
  /** Increases when the numbering begins anew or goes back: followers of an older one read their cursors first. */
  generation = 0;
  /** Increases with each change that a read in progress may not show. */
  changes = 0;
  /** When it was last certain that nothing was missed, by `performance.now()`. */
  checkedAt = performance.now();
  readonly #context: ChatsContext;
  readonly codecs: Codecs | undefined;
  readonly #heads: ChatHeads;
  readonly #onEmpty: (feed: ChatFeed) => void;
  readonly #followers = new Map<string, Set<FeedFollower>>();
  readonly #pages = new Map<number, Promise<Page | undefined>>();
  /** Members whose cursors must be read. */
  readonly #wanted = new Set<string>();
  /** Followers that came after the read in progress began. Its reply may predate a leave that they have missed. */
  readonly #late = new Set<FeedFollower>();
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
    heads: ChatHeads,
    readonly chatId: string,
    onEmpty: (feed: ChatFeed) => void,
  ) {
    this.#context = context;
    this.#heads = heads;
    this.codecs = context.codecs;
    this.keys = context.keys.chat(chatId);
    this.#onEmpty = onEmpty;
  }

  /** The place of the next frame in the tail. */
  get endSeq(): number {
    return this.#firstSeq + this.#tail.length;
  }

  /** The place of the oldest frame in the tail. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  frame(seq: number): Frame {
    return this.#tail[seq - this.#firstSeq]!;
  }

  /** Adds a follower, and reads its cursor after the chat is subscribed. */
  attach(follower: FeedFollower): void {
    const followers = this.#followers.get(follower.encodedMember);
    if (followers) followers.add(follower);
    else this.#followers.set(follower.encodedMember, new Set([follower]));
    this.#late.add(follower);
    this.look([follower.encodedMember]);
  }

  detach(follower: FeedFollower): void {
    this.#late.delete(follower);
    const followers = this.#followers.get(follower.encodedMember);
    if (!followers?.delete(follower) || followers.size > 0) return;
    this.#followers.delete(follower.encodedMember);
    if (this.#followers.size > 0) return;
    this.#close();
    this.#onEmpty(this);
  }

  /** Reads the head, and the cursors of these members: one command for all reads of a tick. */
  look(members: Iterable<string>): void {
    for (const member of members) this.#wanted.add(member);
    this.#isStale = true;
    if (!this.#isReading) void this.#read();
  }

  /** Something is wrong: reads everything again. */
  doubt(): void {
    this.look(this.#followers.keys());
  }

  /** The chat was silent for long. A newer id shows that a push was lost, and others may be lost as well. */
  recheck(): void {
    this.#isRecheck = true;
    this.look([]);
  }

  /** The position of a member, and since when they are in the chat. One round trip. */
  membership(member: string): Promise<Membership | undefined> {
    return this.#persist(() => readMembership(this.#context.redis, this.keys, member));
  }

  /** A member has acked in this process. */
  acked(member: string, ackedId: number): void {
    for (const follower of this.#followers.get(member) ?? []) follower.acked(ackedId);
  }

  /** The entries after an id. One round trip for all followers that need it at about the same time. */
  page(after: number): Promise<Page | undefined> {
    const known = this.#pages.get(after);
    if (known) return known;
    const page = this.#persist(() => readPage(this.#context.redis, this.keys, after));
    this.#pages.set(after, page);
    this.#context.telemetry?.count(FETCHED, 1);
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

  /** Drops an old tail. Called every few seconds. */
  dropOldTail(now: number): void {
    if (this.#tail.length > 0 && now - this.#pushedAt > TAIL_MS) this.#clearTail();
  }

  onMessage(body: Buffer): void {
    this.#pushedAt = performance.now();
    this.checkedAt = this.#pushedAt;
    for (const frame of decodeFrames(body)) this.#onFrame(frame);
    for (const [member, followers] of this.#followers) {
      for (const follower of followers) {
        // Any change may have made the candidate a member.
        if (follower.isCandidate && !follower.isUnreadable) this.look([member]);
        else follower.wake();
      }
    }
  }

  onResync(): void {
    this.#context.telemetry?.count(RESYNCS, 1);
    this.#distrust();
  }

  onClosed(): void {
    this.#fail(new ClientClosedError());
  }

  /** Something was missed: the membership of every follower is uncertain. */
  #distrust(): void {
    this.changes += 1;
    for (const follower of this.#all()) follower.doubt();
    this.doubt();
  }

  #onFrame(frame: Frame): void {
    const { kind, text } = frame;
    if (kind === 'm') {
      const id = entryId(text);
      // No script of ours has sent this.
      if (!(id > 0)) {
        this.#distrust();
        return;
      }
      if (this.epoch !== 0 && id > this.lastId + 1) this.#distrust();
      // A read has overtaken the push; or the ids began anew unnoticed.
      if (id <= this.lastId) this.look([]);
      this.lastId = Math.max(this.lastId, id);
      this.pushedId = Math.max(this.pushedId, id);
      // The entry that it changed may be in a page.
      if (REVISION.test(text)) this.#pages.clear();
    }
    this.#keep(frame);
    const seq = this.endSeq - 1;
    if (kind === 'j') for (const follower of this.#followers.get(text) ?? []) follower.joined();
    if (kind === 'l') this.#onLeft(text, seq);
    if (kind !== 'x') return;
    for (const follower of this.#all()) follower.ended(seq);
    this.#renumber(0, 0);
  }

  #onLeft(text: string, seq: number): void {
    const [member = '', lastId, ackedId] = text.split('\0');
    for (const follower of this.#followers.get(member) ?? []) {
      // A read in progress may still find the member.
      if (follower.isCandidate) this.changes += 1;
      else follower.left(seq, Number(lastId), Number(ackedId));
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
    this.changes += 1;
    this.epoch = epoch;
    this.lastId = lastId;
    this.pushedId = 0;
    this.#pages.clear();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      if (!this.#stop) await this.#subscribe();
      while (this.#isStale && !this.#isOver) {
        // Collects the reads of this tick.
        await new Promise<void>(afterMicrotasks);
        const members = [...this.#wanted].slice(0, MAX_MEMBERS);
        for (const member of members) this.#wanted.delete(member);
        this.#isStale = this.#wanted.size > 0;
        this.#late.clear();
        const { changes, lastId } = this;
        const reply = await this.#persist(() => this.#heads.read(this.keys.chat, members));
        if (!reply || this.#isOver) return;
        // Otherwise the chat has changed during the read.
        if (changes === this.changes) this.#apply(members, reply, lastId);
        else this.look(members);
      }
    } catch (error) {
      if (isOfOneChat(error)) for (const follower of this.#all()) follower.fail(error);
      else this.#fail(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #subscribe(): Promise<void> {
    const stop = await this.#persist(() => this.#context.hub.listen(this.keys.events, this));
    if (this.#isOver) stop?.();
    else this.#stop = stop;
  }

  /** @param knownId The highest id that was known before the read: a lower one means that ids went back. */
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
    const isNew = lastId > this.lastId;
    const isRecheck = this.#isRecheck && this.epoch !== 0;
    this.#isRecheck = false;
    this.epoch = epoch;
    this.lastId = Math.max(this.lastId, lastId);
    for (const [index, member] of members.entries()) {
      for (const follower of this.#followers.get(member) ?? []) this.#place(follower, head, cursors[index]);
    }
    if (isNew && isRecheck) this.#distrust();
    else if (isNew) for (const follower of this.#all()) follower.wake();
  }

  /** There is no such chat. The tail stays for followers that have not read it. */
  #applyEnd(): void {
    this.#isRecheck = false;
    for (const follower of this.#all()) this.#place(follower, undefined, undefined);
    if (this.epoch !== 0 || this.lastId > 0) this.#renumber(0, 0);
  }

  /** A late follower waits for its own read. */
  #place(follower: FeedFollower, head: Head | undefined, cursor: number | undefined): void {
    if (!this.#late.has(follower)) follower.onHead(head, cursor);
  }

  #fail(error: unknown): void {
    const failed = this.#all();
    this.#close();
    this.#onEmpty(this);
    this.#followers.clear();
    for (const follower of failed) follower.fail(error);
  }

  /** Repeats a read until it succeeds; undefined when the feed is over. */
  #persist<Result>(act: () => Promise<Result>): Promise<Result | undefined> {
    return persist(() => !this.#isOver, act);
  }

  #all(): FeedFollower[] {
    return Array.from(this.#followers.values(), (followers) => [...followers]).flat();
  }

  #close(): void {
    this.#isOver = true;
    this.#stop?.();
    this.#pages.clear();
  }
}
