/**
 * What is new in all chats of a member, with native reads: the index, then the head of each chat, then the entries of those
 * that have some. A script for each chat costs the server three times as much, and on Cluster no script sees all of them.
 *
 * A log may be trimmed, or grow, between its head and its entries. Ids are dense, so that shows: the entries don't begin
 * behind the cursor, or are not as many as there should be. Such a chat is read again, at one instant, by a script; likewise one
 * that has lost unread messages to its caps, one whose next entries are all deleted, and one that was just created.
 */
import type { Read } from '@mortise/redis';
import { encodeName, readMany, requireName } from '@mortise/redis';
import type { Acks } from '../chat/acks.js';
import type { ChatMessage } from '../chat/chat-message.js';
import { toChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { NotAMemberError, ReadTimeoutError, UnknownChatError, UnknownMessageError } from '../errors.js';
import { inTime, LATE } from '../in-time.js';
import type { IdRange } from '../log/entry.js';
import { entryId, toRange } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import type { PullOptions } from '../options.js';
import { resolvePullOptions } from '../options.js';
import { GAPS, PULLED } from '../telemetry/metrics.js';
import type { ChatSlice } from './chat-reader.js';
import { ChatReader } from './chat-reader.js';
import type { Entered, MemberIndex, Standing } from './member-index.js';
import { News } from './news.js';
import { QuietChats } from './quiet-chats.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

/** What is new in one chat. */
export interface Pulled<Body = unknown> {
  readonly chatId: string;
  /** Tells one numbering from the next: ids begin anew when a chat of the same name is created again. */
  readonly epoch: number;
  readonly messages: ChatMessage<Body>[];
  /** Messages behind the cursor, those returned included. Edits and deletions are no messages. */
  readonly unread: number;
  readonly lastId: number;
  /** The cursor from which was read. */
  readonly ackedId: number;
  /** Entries behind the cursor that were dropped. Absent when there are none. */
  readonly gap?: IdRange;
  readonly isMuted: boolean;
}

interface Look<Body> {
  /** All that were looked into. */
  readonly chatIds: readonly string[];
  /** Where something may come, also chats that are about to get the member. */
  readonly heard: readonly string[];
  readonly pulled: Pulled<Body>[];
}

/** The most entries of one pull: with many chats, each gives less than `limit`. */
const MAX_ENTRIES = 10_000;
/** The clocks of two masters differ by less, in ms. */
const CLOCKS_DIFFER_MS = 1_000;
/** A push may be lost with its connection; a waiting pull looks again after so long. */
const RECHECK_MS = 5_000;
/** What is asked at the end of a wait may take so long to be answered. */
const LAST_ANSWER_MS = 1_000;

/** Reads what is new in all chats of a member. */
export class Puller<Body> {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #acks: Acks;
  readonly #reader: ChatReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext, index: MemberIndex, acks: Acks) {
    this.#context = context;
    this.#index = index;
    this.#acks = acks;
    this.#reader = new ChatReader(context);
    this.#quiet = new QuietChats(context.limits.retentionMs);
    this.#unreadable = UnreadableChats.of(context);
  }

  async pull(member: string, options: PullOptions): Promise<Pulled<Body>[]> {
    requireName('member', member);
    const { limit, waitMs, autoAck, includeMuted } = resolvePullOptions(options);
    const { signal } = options;
    signal?.throwIfAborted();
    const deadlineAt = performance.now() + waitMs;
    const lastAt = waitMs === 0 ? Infinity : deadlineAt + LAST_ANSWER_MS;
    const look = async (): Promise<Look<Body>> => {
      const seen = await inTime(this.#look(member, limit, includeMuted), lastAt, signal);
      if (seen === LATE) throw new ReadTimeoutError(member, waitMs);
      return seen;
    };
    let seen = await look();
    if (seen.pulled.length === 0 && waitMs > 0) {
      const { keys, hub } = this.#context;
      const news = new News(hub);
      try {
        for (;;) {
          // What comes while the channels are being subscribed is found by the look behind that.
          const channels = seen.heard.map((chatId) => keys.chat(chatId).events);
          await inTime(news.listen([keys.member(member).events, ...channels]), deadlineAt, signal);
          const known = new Set(seen.heard);
          seen = await look();
          const now = performance.now();
          if (seen.pulled.length > 0 || now >= deadlineAt) break;
          if (seen.heard.some((chatId) => !known.has(chatId))) continue;
          await news.next(Math.min(deadlineAt, now + RECHECK_MS), signal);
        }
      } finally {
        news.close();
      }
    }
    const { chatIds, pulled } = seen;
    this.#count(pulled);
    if (autoAck) {
      const acked = Promise.all(pulled.map((chat) => this.#ack(member, chat)));
      // What was read is returned in any case: it may be acked, and then it never comes again.
      await inTime(acked, lastAt, signal).catch((error: unknown) => {
        if (!signal?.aborted) throw error;
      });
    }
    this.#unreadable.report(chatIds, options);
    return pulled;
  }

  #count(pulled: readonly Pulled<Body>[]): void {
    const { tally } = this.#context;
    if (!tally) return;
    for (const { messages, gap } of pulled) {
      tally.count(PULLED, messages.length);
      if (gap) tally.count(GAPS, 1);
    }
  }

  async #look(member: string, limit: number, includeMuted: boolean): Promise<Look<Body>> {
    const lookedAt = performance.now();
    const isQuiet = (chatId: string): boolean => this.#quiet.has(member, chatId, lookedAt);
    const found = await this.#unreadable.find(this.#index, member, [HEAD.lastId], includeMuted, isQuiet);
    const { chatIds, standings, quiet, stirred, useless } = found;
    const fresh: Standing[] = [];
    for (const standing of standings) {
      const {
        chatId,
        score,
        head: [lastId = 0],
      } = standing;
      if (lastId > ackedIdOf(score)) fresh.push(standing);
      else this.#quiet.add(member, chatId, lookedAt);
    }
    const share = Math.max(1, Math.min(limit, Math.floor(MAX_ENTRIES / (fresh.length + stirred.length))));
    const [news, newsOfQuiet, { candidates }] = await Promise.all([
      this.#readAll(member, fresh, share, useless.now),
      this.#readStirred(member, stirred, share, useless.now, lookedAt),
      this.#index.forget(member, useless),
    ]);
    for (const { chatId } of quiet) this.#quiet.addEmpty(member, chatId);
    this.#quiet.keep(member, chatIds);
    const pulled = inOrder(chatIds, news, newsOfQuiet);
    const entered = [...standings, ...quiet, ...stirred].map(({ chatId }) => chatId);
    return { chatIds, heard: [...entered, ...candidates], pulled };
  }

  /**
   * What is new in chats that were quiet; nothing in most of those whose logs were asked for together. What is in a log that
   * was empty is behind what the member had read, so its entries are asked for with its head, and then they have to end
   * where the head says.
   */
  async #readStirred(
    member: string,
    stirred: readonly Entered[],
    share: number,
    now: number,
    lookedAt: number,
  ): Promise<(Pulled<Body> | null)[]> {
    const { redis, keys } = this.#context;
    const name = encodeName(member);
    const youngFrom = this.#youngFrom(now);
    const wereEmpty = stirred.map(({ chatId }) => this.#quiet.wasEmpty(member, chatId));
    const reads: Read[] = [];
    for (const [index, { chatId }] of stirred.entries()) {
      const { chat, log } = keys.chat(chatId);
      if (!wereEmpty[index]) continue;
      reads.push(['lrange', log, 0, share - 1], ['zmscore', chat, HEAD.lastId, HEAD.epoch, name]);
    }
    const replies = await readMany(redis, reads).catch(ofOneChat);
    let next = 0;
    return Promise.all(
      stirred.map(({ chatId, isMuted }, index) =>
        this.#unreadable.attempt(chatId, async () => {
          if (replies && wereEmpty[index]) {
            const entries = replies[next] as string[];
            const [last, head, score] = replies[next + 1] as (string | null)[];
            next += 2;
            const [lastId, epoch, ackedId] = [0 - Number(last), 0 - Number(head), ackedIdOf(score ?? 0)];
            const isKnown = typeof score === 'string' && epoch > 0 && epoch < youngFrom;
            if (isKnown && lastId === ackedId) {
              this.#quiet.add(member, chatId, lookedAt, entries.length === 0);
              return null;
            }
            const unreadFrom = entries.length - (lastId - ackedId);
            if (isKnown && unreadFrom >= 0 && lastId > ackedId && entryId(entries.at(-1)!) === lastId) {
              const messages = toMessages<Body>(entries.slice(unreadFrom), epoch);
              const unread = messages.filter(({ kind }) => kind === 'message').length;
              this.#quiet.delete(member, chatId);
              if (messages.length > 0) return { chatId, epoch, messages, unread, lastId, ackedId, isMuted };
            }
          }
          const slice = await this.#reader.read(chatId, { limit: share }, member);
          if (slice && slice.lastId === slice.ackedId) {
            this.#quiet.add(member, chatId, lookedAt, slice.baseId === slice.lastId);
            return null;
          }
          this.#quiet.delete(member, chatId);
          return slice && toPulled(chatId, isMuted, slice);
        }),
      ),
    );
  }

  /** A chat that was created from then on may have been created since its head was read. */
  #youngFrom(now: number): number {
    return now - (this.#context.redis.isCluster ? CLOCKS_DIFFER_MS : 0);
  }

  async #readAll(
    member: string,
    fresh: readonly Standing[],
    share: number,
    now: number,
  ): Promise<Pulled<Body>[]> {
    const { redis, keys } = this.#context;
    const youngFrom = this.#youngFrom(now);
    const reads: Read[] = [];
    for (const {
      chatId,
      score,
      head: [lastId = 0],
    } of fresh) {
      const { chat, log, uncounted } = keys.chat(chatId);
      const ackedId = ackedIdOf(score);
      const behind = lastId - ackedId;
      reads.push(
        ['lrange', log, -behind, behind > share ? share - behind - 1 : -1],
        ['zscore', chat, HEAD.epoch],
      );
      if (behind > share) reads.push(['zcount', uncounted, `(${ackedId}`, lastId]);
    }
    const replies = await readMany(redis, reads).catch(ofOneChat);
    let next = 0;
    const chats = fresh.map((standing) =>
      this.#unreadable.attempt(standing.chatId, async () => {
        const {
          chatId,
          score,
          head: [lastId = 0],
          isMuted,
        } = standing;
        if (!replies) return this.#readAgain(member, chatId, share, isMuted);
        const ackedId = ackedIdOf(score);
        const behind = lastId - ackedId;
        const entries = replies[next] as string[];
        const epoch = 0 - Number(replies[next + 1]);
        const uncounted = behind > share ? (replies[next + 2] as number) : undefined;
        next += behind > share ? 3 : 2;
        const isWhole =
          entries.length === Math.min(behind, share) &&
          entryId(entries[0]!) === ackedId + 1 &&
          // Not a chat of the same name that was created since the heads were read.
          epoch > 0 &&
          epoch < youngFrom;
        if (isWhole) {
          const messages = toMessages<Body>(entries, epoch);
          const unread =
            uncounted === undefined
              ? messages.filter(({ kind }) => kind === 'message').length
              : behind - uncounted;
          if (messages.length > 0) return { chatId, epoch, messages, unread, lastId, ackedId, isMuted };
        }
        return this.#readAgain(member, chatId, share, isMuted);
      }),
    );
    return (await Promise.all(chats)).filter((chat) => chat !== null);
  }

  async #readAgain(
    member: string,
    chatId: string,
    limit: number,
    isMuted: boolean,
  ): Promise<Pulled<Body> | null> {
    const slice = await this.#reader.read(chatId, { limit }, member);
    return slice && toPulled(chatId, isMuted, slice);
  }

  async #ack(member: string, { chatId, epoch, messages, gap }: Pulled<Body>): Promise<void> {
    const upToId = messages.at(-1)?.id ?? gap!.toId;
    try {
      await this.#unreadable.attempt(chatId, () => this.#acks.ack(member, chatId, upToId, { epoch }));
    } catch (error) {
      // Whoever left in between, or was put into a chat of the same name, has nothing to ack.
      const isGone = [NotAMemberError, UnknownChatError, UnknownMessageError].some(
        (kind) => error instanceof kind,
      );
      if (!isGone) throw error;
    }
  }
}

/** All of them that are any, in the order of the chats. */
function inOrder<Body>(
  chatIds: readonly string[],
  news: Pulled<Body>[],
  more: readonly (Pulled<Body> | null)[],
): Pulled<Body>[] {
  const found = more.filter((chat) => chat !== null);
  if (found.length === 0) return news;
  const places = new Map(chatIds.map((chatId, place) => [chatId, place]));
  return [...news, ...found].toSorted((a, b) => places.get(a.chatId)! - places.get(b.chatId)!);
}

function toPulled<Body>(chatId: string, isMuted: boolean, slice: ChatSlice<Body>): Pulled<Body> | null {
  const { epoch, lastId, ackedId, baseId, unread, messages } = slice;
  const gap = toRange(ackedId + 1, baseId);
  if (!gap && messages.length === 0) return null;
  return { chatId, epoch, messages, unread, lastId, ackedId, ...(gap && { gap }), isMuted };
}

function toMessages<Body>(entries: readonly string[], epoch: number): ChatMessage<Body>[] {
  const messages: ChatMessage<Body>[] = [];
  for (const entry of entries) {
    const message = toChatMessage<Body>(entry, epoch);
    if (message) messages.push(message);
  }
  return messages;
}
