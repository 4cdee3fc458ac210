/**
 * Reads what is behind a member's cursors, with native reads: a script for each chat costs the server three times as much,
 * and on Cluster no script sees all of them.
 *
 * A log may be trimmed, or grow, between its head and its entries. Ids are dense, so that shows: the entries don't begin
 * behind the cursor, or are not as many as there should be. Such a chat is read again, at one instant, by a script; likewise one
 * that has lost unread messages to its caps, one whose next entries are all deleted, and one that was just created.
 *
 * What Redis has to send is bounded before it is asked for. The head says how large a log is. A chat that holds more than its
 * part of what the reply may have is left to the script, which stops in time.
 */
import type { Read } from '@mortise/redis';
import { encodeName, readMany } from '@mortise/redis';
import type { ChatMessage } from '../chat/chat-message.js';
import { toChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { entryId, toRange } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import { ByteBudget } from './byte-budget.js';
import { ChatReader } from './chat-reader.js';
import type { Entered, Standing } from './member-index.js';
import type { Pulled } from './pulled.js';
import type { QuietChats } from './quiet-chats.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

/** What was found out about the chats of a member before. */
export interface Unread {
  readonly member: string;
  /** Chats with something behind the cursor, and `UNREAD_HEAD`. */
  readonly fresh: readonly Standing[];
  /** Chats in which everything was read, until something was put into their logs. */
  readonly stirred: readonly Entered[];
  /** The clock of the member's server, ms. */
  readonly now: number;
  /** When that was, on the clock of `performance.now()`. */
  readonly lookedAt: number;
}

interface Bounds {
  /** Entries of each chat. */
  readonly share: number;
  readonly budget: ByteBudget;
  /** Chats that were created from then on may have been created since their heads were read. */
  readonly youngFrom: number;
}

/** What native reads have come to. */
interface Found<Body> {
  readonly pulled: Pulled<Body>[];
  /** Chats whose heads are known by now. */
  readonly fresh: Standing[];
  /** Chats for the script. */
  readonly again: Entered[];
}

/** Parts of the heads that the standings have to have. */
export const UNREAD_HEAD = [HEAD.lastId, HEAD.bytes] as const;
/** The most entries in one reply: with many chats, each gives less than `limit`. */
const MAX_ENTRIES = 10_000;
/** The clocks of two masters differ by less, in ms. */
const CLOCKS_DIFFER_MS = 1_000;
/** What an entry may have besides its body: a name of 1,024 bytes, encoded. */
const MAX_ENTRY_HEAD_BYTES = 4_096;

export class UnreadReader<Body> {
  readonly #context: ChatsContext;
  readonly #reader: ChatReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;
  readonly #maxEntryBytes: number;

  constructor(context: ChatsContext, quiet: QuietChats) {
    this.#context = context;
    this.#reader = new ChatReader(context);
    this.#quiet = quiet;
    this.#unreadable = UnreadableChats.of(context);
    this.#maxEntryBytes = context.limits.maxBodyBytes + MAX_ENTRY_HEAD_BYTES;
  }

  /**
   * Up to `limit` entries of each chat and `maxBytes` of all. Chats of which nothing fits any more are left out. One round
   * trip; more where a chat was just created, has changed meanwhile, or has more bytes than its part.
   */
  async read(
    unread: Unread,
    { limit, maxBytes }: { limit: number; maxBytes: number },
  ): Promise<Pulled<Body>[]> {
    const { fresh, stirred, now } = unread;
    const count = fresh.length + stirred.length;
    if (count === 0) return [];
    const bounds = {
      share: Math.max(1, Math.min(limit, Math.floor(MAX_ENTRIES / count))),
      budget: new ByteBudget(maxBytes),
      youngFrom: now - (this.#context.redis.isCluster ? CLOCKS_DIFFER_MS : 0),
    };
    const bytesOfEach = maxBytes / count;
    const [first, second] = await Promise.all([
      this.#readFresh(fresh, bytesOfEach * fresh.length, bounds),
      this.#readStirred(unread, bytesOfEach, bounds),
    ]);
    const third = await this.#readFresh(second.fresh, bounds.budget.left, bounds);
    const again = [first, second, third].flatMap((found) => found.again);
    const last = await this.#readAgain(unread, again, bounds);
    return [...first.pulled, ...second.pulled, ...third.pulled, ...last];
  }

  /** @param bytes What all of them together may have. */
  async #readFresh(
    fresh: readonly Standing[],
    bytes: number,
    { share, budget, youngFrom }: Bounds,
  ): Promise<Found<Body>> {
    const { redis, keys } = this.#context;
    const held = fresh.reduce((sum, { head: [, heldBytes = 0] }) => sum + heldBytes, 0);
    const most = held <= bytes ? Infinity : bytes / fresh.length;
    const again: Entered[] = fresh.filter(({ head: [, heldBytes = 0] }) => heldBytes > most);
    const native =
      again.length === 0 ? fresh : fresh.filter(({ head: [, heldBytes = 0] }) => heldBytes <= most);
    const reads: Read[] = [];
    for (const {
      chatId,
      score,
      head: [lastId = 0],
    } of native) {
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
    if (!replies) return { pulled: [], fresh: [], again: [...fresh] };
    const pulled: Pulled<Body>[] = [];
    let next = 0;
    for (const standing of native) {
      const {
        chatId,
        score,
        head: [lastId = 0],
        isMuted,
      } = standing;
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
      const counted = uncounted === undefined ? undefined : behind - uncounted;
      const of = { chatId, epoch, lastId, ackedId, isMuted };
      const news = isWhole ? await this.#take(of, entries, budget, counted) : undefined;
      if (news) pulled.push(news);
      else if (news === undefined) again.push(standing);
    }
    return { pulled, fresh: [], again };
  }

  /**
   * Nothing is new in most of those whose logs were asked for together. What is in a log that was empty is behind what the
   * member had read, so its entries are asked for with its head, as many as fit in any case, and then they have to end where
   * the head says.
   */
  async #readStirred(
    { member, stirred, lookedAt }: Unread,
    bytesOfEach: number,
    { share, budget, youngFrom }: Bounds,
  ): Promise<Found<Body>> {
    const { redis, keys } = this.#context;
    const name = encodeName(member);
    const most = Math.max(1, Math.min(share, Math.floor(bytesOfEach / this.#context.limits.maxBodyBytes)));
    const wereEmpty = stirred.filter(({ chatId }) => this.#quiet.wasEmpty(member, chatId));
    const again = stirred.filter(({ chatId }) => !this.#quiet.wasEmpty(member, chatId));
    const reads = wereEmpty.flatMap(({ chatId }): Read[] => {
      const { chat, log } = keys.chat(chatId);
      return [
        ['lrange', log, 0, most - 1],
        ['zmscore', chat, ...UNREAD_HEAD, HEAD.epoch, name],
      ];
    });
    const replies = await readMany(redis, reads).catch(ofOneChat);
    if (!replies) return { pulled: [], fresh: [], again: [...stirred] };
    const found: Found<Body> = { pulled: [], fresh: [], again };
    for (const [index, entered] of wereEmpty.entries()) {
      const { chatId, isMuted } = entered;
      const entries = replies[2 * index] as string[];
      const [last, bytes, head, score] = replies[2 * index + 1] as (string | null)[];
      const [lastId, epoch, ackedId] = [0 - Number(last), 0 - Number(head), ackedIdOf(score ?? 0)];
      const isKnown = typeof score === 'string' && epoch > 0 && epoch < youngFrom;
      if (isKnown && lastId === ackedId) {
        this.#quiet.add(member, chatId, lookedAt, entries.length === 0);
        continue;
      }
      const unreadFrom = entries.length - (lastId - ackedId);
      const isWhole = unreadFrom >= 0 && lastId > ackedId && entryId(entries.at(-1)!) === lastId;
      const of = { chatId, epoch, lastId, ackedId, isMuted };
      const news = isKnown && isWhole ? await this.#take(of, entries.slice(unreadFrom), budget) : undefined;
      if (news !== undefined) {
        this.#quiet.delete(member, chatId);
        if (news) found.pulled.push(news);
      } else if (isKnown && entries.length === most && most < share) {
        this.#quiet.delete(member, chatId);
        found.fresh.push({ chatId, score: Number(score), head: [lastId, 0 - Number(bytes)], isMuted });
      } else again.push(entered);
    }
    return found;
  }

  /** By the script: so many at a time, each with its part, that together they fit; until something doesn't. */
  async #readAgain(
    { member, lookedAt }: Unread,
    chats: readonly Entered[],
    { share, budget }: Bounds,
  ): Promise<Pulled<Body>[]> {
    const pulled: Pulled<Body>[] = [];
    for (let from = 0; from < chats.length && budget.left > 0;) {
      const size = Math.max(1, Math.floor(budget.left / this.#maxEntryBytes));
      const maxBytes = Math.floor(budget.left / (chats.length - from));
      const read = chats.slice(from, from + size).map(({ chatId, isMuted }) =>
        this.#unreadable.attempt(chatId, async () => {
          const slice = await this.#reader.read(chatId, { limit: share, maxBytes, budget }, member);
          if (!slice) return null;
          const { epoch, lastId, ackedId, baseId, unread, messages } = slice;
          if (lastId === ackedId) {
            this.#quiet.add(member, chatId, lookedAt, baseId === lastId);
            return null;
          }
          this.#quiet.delete(member, chatId);
          const gap = toRange(ackedId + 1, baseId);
          if (!gap && messages.length === 0) return null;
          return { chatId, epoch, messages, unread, lastId, ackedId, ...(gap && { gap }), isMuted };
        }),
      );
      for (const news of await Promise.all(read)) if (news) pulled.push(news);
      from += size;
    }
    return pulled;
  }

  /**
   * Those of the entries that fit, decoded. Null: nothing fits, or they can't be read; undefined: there is no message among them.
   *
   * @param unread Messages behind the cursor, if there are more than the entries.
   */
  #take(
    of: Pick<Pulled, 'chatId' | 'epoch' | 'lastId' | 'ackedId' | 'isMuted'>,
    entries: readonly string[],
    budget: ByteBudget,
    unread?: number,
  ): Promise<Pulled<Body> | null | undefined> {
    return this.#unreadable.attempt(of.chatId, async () => {
      const { chatId, epoch, lastId, ackedId, isMuted } = of;
      const taken = budget.take(entries);
      const messages = toMessages<Body>(taken, epoch);
      if (messages.length === 0) return taken === entries ? undefined : null;
      const all = taken === entries ? messages : toMessages<Body>(entries, epoch);
      const counted = unread ?? all.filter(({ kind }) => kind === 'message').length;
      return { chatId, epoch, messages, unread: counted, lastId, ackedId, isMuted };
    });
  }
}

function toMessages<Body>(entries: readonly string[], epoch: number): ChatMessage<Body>[] {
  const messages: ChatMessage<Body>[] = [];
  for (const entry of entries) {
    const message = toChatMessage<Body>(entry, epoch);
    if (message) messages.push(message);
  }
  return messages;
}
