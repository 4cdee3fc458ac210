/**
 * Reads what is behind a member's cursors, as much as one reply has room for.
 *
 * What Redis has to send is bounded before it is asked for. The head says how large a log is. Those that fit into an equal part
 * of the bytes are read with native reads; of each other one a script sends what fits into its part, and says how large the
 * next entry is and since when it waits. Nothing is guessed, and nothing is counted that could not be decoded.
 *
 * Then it is known what is left of the bytes, and one more round trip gives it to those that have more. It also
 * has the message that waits for the longest time, whatever its size, so that none waits for ever behind chats that go on getting small
 * ones; the others make room for it, which throws away at most one reply of what was read.
 *
 * Rejected: a place in a rotation, kept in Redis. A pull would have to write, and each device would move it for the others.
 */
import type { ChatsContext } from '../chat/chats-context.js';
import { toRange } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import { ChatReader } from './chat-reader.js';
import { largestPart } from './fair-parts.js';
import type { Standing } from './member-index.js';
import { NativeReader } from './native-reader.js';
import type { Pulled } from './pulled.js';
import type { QuietChats } from './quiet-chats.js';
import type { ReadChat } from './read-chat.js';
import { bytesOf, fit, oldestOf } from './read-chat.js';
import { UnreadableChats } from './unreadable-chats.js';

/** What was found out about the chats of a member before. */
export interface Unread {
  readonly member: string;
  /** Chats with something behind the cursor, and `UNREAD_HEAD`. */
  readonly fresh: readonly Standing[];
  /** When that was begun, on the clock of `performance.now()`. */
  readonly lookedAt: number;
}

/** What to ask of the script. */
interface Ask<Body> {
  readonly standing: Standing;
  readonly maxBytes: number;
  /** What was read before, and is to be gone on with. */
  readonly before?: ReadChat<Body> | undefined;
}

/** Parts of the heads that the standings have to have. */
export const UNREAD_HEAD = [HEAD.lastId, HEAD.bytes, HEAD.epoch] as const;
/** The most entries in one reply: with many chats, each gives less than `limit`. */
const MAX_ENTRIES = 10_000;
/** What is left of the bytes goes to fewer chats when it would be less for each: a script costs as much as so many bytes. */
const WORTH_BYTES = 1_024;
/** A part of the bytes that is not worth one more round trip. */
const LEFT_FREE = 1 / 8;
/** Chats of members that the script reads at once: some 2 MB in a process. */
const MAX_DETOURS = 20_000;

export class UnreadReader<Body> {
  readonly #context: ChatsContext;
  readonly #native: NativeReader<Body>;
  readonly #reader: ChatReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;
  /**
   * Chats, each with its member, where what lies behind the cursor could not be told from the head: dropped or deleted messages
   * do. The script reads them at once, until that is over; or the native reads would be for nothing each time.
   */
  readonly #detours = new Set<string>();

  constructor(context: ChatsContext, quiet: QuietChats) {
    this.#context = context;
    this.#native = new NativeReader(context);
    this.#reader = new ChatReader(context);
    this.#quiet = quiet;
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * Up to `limit` entries of each chat and `maxBytes` of all, at least one. Chats of which nothing fits are left out. One
   * round trip; one more where there are more bytes than that, a chat has changed meanwhile, or for the first time
   * one has a gap or nothing but deleted messages next; and one for each
   * chat that then turns out to be unreadable or to hold something older that is too large.
   */
  async read(
    unread: Unread,
    { limit, maxBytes }: { limit: number; maxBytes: number },
  ): Promise<Pulled<Body>[]> {
    const { fresh } = unread;
    if (fresh.length === 0) return [];
    const share = Math.max(1, Math.min(limit, Math.floor(MAX_ENTRIES / fresh.length)));
    const part = largestPart(fresh.map(heldBytes), maxBytes);
    const { maxMessages } = this.#context.limits;
    const isNative = (standing: Standing): boolean =>
      heldBytes(standing) <= part &&
      // Otherwise the chat has dropped some of it.
      lengthBehind(standing) <= maxMessages &&
      !this.#detours.has(detourOf(unread.member, standing.chatId));
    const small = fresh.filter(isNative);
    const large = fresh.filter((standing) => !isNative(standing));
    const [native, scripted] = await Promise.all([
      this.#native.read(small, share),
      this.#ask(
        unread,
        large.map((standing) => ({ standing, maxBytes: Math.floor(part) })),
        share,
      ),
    ]);
    for (const { chatId } of native.again) this.#detour(detourOf(unread.member, chatId));
    const read = new Map<string, ReadChat<Body>>();
    for (const chat of [...native.chats, ...scripted]) read.set(chat.pulled.chatId, chat);
    const inOrder = (): ReadChat<Body>[] => fresh.flatMap(({ chatId }) => read.get(chatId) ?? []);
    const standings = new Map(fresh.map((standing) => [standing.chatId, standing]));
    let asks = this.#plan(inOrder(), native.again, standings, maxBytes);
    while (asks.length > 0) {
      const replies = await this.#ask(unread, asks, share);
      for (const { standing } of asks) read.delete(standing.chatId);
      for (const chat of replies) read.set(chat.pulled.chatId, chat);
      // From here on only what has to come in any case.
      const oldest = oldestOf(inOrder());
      asks = oldest ? askForFirst(oldest, standings) : [];
    }
    return fit(inOrder(), maxBytes);
  }

  /**
   * Who gets what is left of the bytes: the chats to be read again what they hold, as far as it is within an equal part; of
   * the others, those that wait for the longest time one more entry; and all of these in equal parts what is left then.
   */
  #plan(
    chats: readonly ReadChat<Body>[],
    again: readonly Standing[],
    standings: ReadonlyMap<string, Standing>,
    maxBytes: number,
  ): Ask<Body>[] {
    const waiting = chats
      .filter(({ left }) => left !== undefined)
      .toSorted((a, b) => a.left!.sentAt - b.left!.sentAt);
    if (waiting.length === 0 && again.length === 0) return [];
    let room = chats.reduce((sum, chat) => sum - bytesOf(chat), maxBytes);
    const part = largestPart([...again.map(heldBytes), ...waiting.map(() => Infinity)], room);
    const oldest = oldestOf(chats);
    const asks = oldest ? askForFirst(oldest, standings) : [];
    const isAsked = asks.length > 0;
    if (!isAsked && again.length === 0 && room < maxBytes * LEFT_FREE) return [];
    for (const standing of again) {
      asks.push({ standing, maxBytes: Math.max(0, Math.floor(Math.min(heldBytes(standing), part))) });
    }
    for (const ask of asks) room -= ask.maxBytes;
    const mostAsks = asks.length + Math.max(1, Math.floor(room / WORTH_BYTES));
    for (const chat of waiting) {
      if (asks.length === mostAsks) break;
      const { bytes } = chat.left!;
      if (bytes > room || (isAsked && chat === oldest)) continue;
      asks.push({ standing: standings.get(chat.pulled.chatId)!, maxBytes: bytes, before: chat });
      room -= bytes;
    }
    if (room <= 0) return asks;
    // A log holds no more than that for its member, and where it was read again, perhaps more by now.
    const wanted = asks.map(({ standing, maxBytes: asked, before }) =>
      Math.max(0, heldBytes(standing) - asked - (before ? bytesOf(before) : 0)),
    );
    const most = largestPart(wanted, room);
    const over = most === Infinity ? wanted.reduce((left, want) => left - want, room) / asks.length : 0;
    return asks.map((ask, index) => ({
      ...ask,
      maxBytes: Math.floor(ask.maxBytes + Math.min(wanted[index]!, most) + over),
    }));
  }

  /** By the script, each with its part; those that have something. */
  async #ask(unread: Unread, asks: readonly Ask<Body>[], share: number): Promise<ReadChat<Body>[]> {
    const found = await Promise.all(
      asks.map(({ standing: { chatId, isMuted }, maxBytes, before }) =>
        this.#unreadable.attempt(chatId, async () => {
          const bounds = { maxBytes, share };
          if (before && before.sizes.length > 0) return this.#goOn(unread, before, bounds);
          return this.#begin(unread, { chatId, isMuted }, bounds);
        }),
      ),
    );
    return found.filter((chat) => chat !== null);
  }

  async #begin(
    { member, lookedAt }: Unread,
    { chatId, isMuted }: Pick<Standing, 'chatId' | 'isMuted'>,
    { maxBytes, share }: { maxBytes: number; share: number },
  ): Promise<ReadChat<Body> | null> {
    const slice = await this.#reader.read(chatId, { limit: share, maxBytes }, member);
    if (!slice) return null;
    const { epoch, lastId, ackedId, baseId, unread, messages, sizes, left } = slice;
    if (messages[0]?.id === ackedId + 1) this.#detours.delete(detourOf(member, chatId));
    if (lastId === ackedId) {
      this.#quiet.add(member, chatId, lookedAt, baseId === lastId);
      return null;
    }
    const gap = toRange(ackedId + 1, baseId);
    if (!gap && messages.length === 0 && !left) return null;
    const pulled = { chatId, epoch, messages, unread, lastId, ackedId, ...(gap && { gap }), isMuted };
    return { pulled, sizes, ...(left && { left }) };
  }

  #detour(detour: string): void {
    this.#detours.add(detour);
    if (this.#detours.size > MAX_DETOURS) this.#detours.delete(this.#detours.values().next().value!);
  }

  /** What was read before is good in any case; what is behind it by now is only if nothing lies in between. */
  async #goOn(
    { member }: Unread,
    { pulled, sizes }: ReadChat<Body>,
    { maxBytes, share }: { maxBytes: number; share: number },
  ): Promise<ReadChat<Body>> {
    const { chatId, epoch, lastId, messages } = pulled;
    const after = messages.at(-1)!.id;
    const part = { after, before: lastId + 1, limit: share - messages.length, maxBytes };
    const slice = await this.#reader.read(chatId, part, member);
    const isNext = slice?.epoch === epoch && slice.baseId <= after && slice.ackedId <= after;
    if (!isNext) return { pulled, sizes };
    return {
      pulled: { ...pulled, messages: [...messages, ...slice.messages] },
      sizes: [...sizes, ...slice.sizes],
    };
  }
}

/** Names may have any characters: the length tells where the first one ends. */
function detourOf(member: string, chatId: string): string {
  return `${member.length}:${member}${chatId}`;
}

/** For the first entry of a chat, if it was left for its size. */
function askForFirst<Body>(
  { pulled, sizes, left }: ReadChat<Body>,
  standings: ReadonlyMap<string, Standing>,
): Ask<Body>[] {
  if (sizes.length > 0 || !left) return [];
  return [{ standing: standings.get(pulled.chatId)!, maxBytes: left.bytes }];
}

function lengthBehind({ score, head: [lastId = 0] }: Standing): number {
  return lastId - ackedIdOf(score);
}

function heldBytes({ head: [, bytes = 0] }: Standing): number {
  return bytes;
}
