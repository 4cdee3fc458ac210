/**
 * Reads as many unread entries of a member as fit into one reply, in one pass; a second pass completes it.
 *
 * The first pass divides the bytes equally among the chats. The head of a chat contains the size of its log: a log that
 * fits into its share is read completely, with plain reads. Of a larger one, a script returns the entries that fit, and the
 * size and time of the next one. So the bytes that Redis sends are bounded in advance.
 *
 * The second pass reads chats again by the script: those that have changed since the first pass or begin with a gap or
 * tombstones; those that get unused bytes of others; and the one whose first message has waited longest, whatever its size.
 * So small messages in other chats never block a large one forever.
 *
 * Rejected: a rotation stored in Redis. Each pull would have to write, and the devices of a member would move it for each
 * other.
 */
import type { ChatsContext } from '../log/chats-context.js';
import { toRange } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/score.js';
import type { JoinedChat } from '../members/member-index.js';
import { ChatReader } from './chat-reader.js';
import type { Pulled } from './pulled.js';
import type { QuietChats } from './quiet-chats.js';
import type { ReadChat } from './read-chat.js';
import { bytesOf, fit, largestShare, oldestOf } from './read-chat.js';
import { UnreadableChats } from './unreadable-chats.js';
import { WholeLogReader } from './whole-log-reader.js';

/** The state of a member's chats before their entries are read. */
export interface Unread {
  readonly member: string;
  /** Chats with an entry after the cursor, and with `UNREAD_HEAD`. */
  readonly chats: readonly JoinedChat[];
  /** When their heads were requested, by `performance.now()`. */
  readonly lookedAt: number;
}

/** A chat to be read by the script. */
interface Request<Body> {
  readonly chat: JoinedChat;
  readonly maxBytes: number;
  /** The entries of the first pass, which are continued. Undefined: starts at the member's cursor. */
  readonly start?: ReadChat<Body>;
}

/** The parts of a head that `pull` needs. */
export const UNREAD_HEAD = [HEAD.lastId, HEAD.bytes, HEAD.epoch] as const;
/** Maximum of entries in one reply: with many chats, each returns less than `limit`. */
const MAX_ENTRIES = 10_000;
/** A script call costs as much as this many bytes, so unused bytes are divided only into shares of at least this size. */
const WORTH_BYTES = 1_024;
/** A smaller part of the bytes is not worth one more round trip. */
const WORTH_SHARE = 1 / 8;

export class UnreadReader<Body> {
  readonly #context: ChatsContext;
  readonly #wholeLogs: WholeLogReader<Body>;
  readonly #reader: ChatReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext, quiet: QuietChats) {
    this.#context = context;
    this.#wholeLogs = new WholeLogReader(context);
    this.#reader = new ChatReader(context);
    this.#quiet = quiet;
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * Up to `limit` entries of each chat and `maxBytes` of all, at least one. Chats without room are omitted. One or two
   * round trips; one more for each chat that turns out to be unreadable, or to begin with an older message that is too
   * large.
   */
  async read(unread: Unread, bounds: { limit: number; maxBytes: number }): Promise<Pulled<Body>[]> {
    const { chats } = unread;
    if (chats.length === 0) return [];
    const { maxBytes } = bounds;
    const limit = Math.max(1, Math.min(bounds.limit, Math.floor(MAX_ENTRIES / chats.length)));
    const share = largestShare(chats.map(logBytes), maxBytes);
    // A log is trimmed to maxMessages, so a longer distance from the cursor is a gap.
    const isWhole = (chat: JoinedChat): boolean =>
      logBytes(chat) <= share && waitingOf(chat) <= this.#context.limits.maxMessages;
    const large = chats.filter((chat) => !isWhole(chat));
    const [{ chats: whole, others }, bounded] = await Promise.all([
      this.#wholeLogs.read(chats.filter(isWhole), limit),
      this.#readBounded(
        unread,
        large.map((chat) => ({ chat, maxBytes: Math.floor(share) })),
        limit,
      ),
    ]);
    const read = new Map([...whole, ...bounded].map((chat) => [chat.pulled.chatId, chat]));
    const inOrder = (): ReadChat<Body>[] => chats.flatMap(({ chatId }) => read.get(chatId) ?? []);
    const joined = new Map(chats.map((chat) => [chat.chatId, chat]));
    let requests = this.#plan(inOrder(), others, joined, maxBytes);
    while (requests.length > 0) {
      const replies = await this.#readBounded(unread, requests, limit);
      for (const { chat } of requests) read.delete(chat.chatId);
      for (const chat of replies) read.set(chat.pulled.chatId, chat);
      // Only the oldest message is worth a further pass.
      const oldest = oldestOf(inOrder());
      requests = oldest ? requestFirst(oldest, joined) : [];
    }
    return fit(inOrder(), maxBytes);
  }

  /**
   * The requests of the second pass. Chats that are read anew get their equal share; the longest waiting chats get one more
   * entry each; the bytes that are left are divided equally among all of these.
   */
  #plan(
    read: readonly ReadChat<Body>[],
    others: readonly JoinedChat[],
    joined: ReadonlyMap<string, JoinedChat>,
    maxBytes: number,
  ): Request<Body>[] {
    const waiting = read
      .filter(({ next }) => next !== undefined)
      .toSorted((a, b) => a.next!.sentAt - b.next!.sentAt);
    if (waiting.length === 0 && others.length === 0) return [];
    let room = read.reduce((sum, chat) => sum - bytesOf(chat), maxBytes);
    const share = largestShare([...others.map(logBytes), ...waiting.map(() => Infinity)], room);
    const oldest = oldestOf(read);
    const requests = oldest ? requestFirst(oldest, joined) : [];
    const isOldestRequested = requests.length > 0;
    if (!isOldestRequested && others.length === 0 && room < maxBytes * WORTH_SHARE) return [];
    for (const chat of others) {
      requests.push({ chat, maxBytes: Math.max(0, Math.floor(Math.min(logBytes(chat), share))) });
    }
    for (const request of requests) room -= request.maxBytes;
    const mostRequests = requests.length + Math.max(1, Math.floor(room / WORTH_BYTES));
    for (const chat of waiting) {
      if (requests.length === mostRequests) break;
      const { bytes } = chat.next!;
      if (bytes > room || (isOldestRequested && chat === oldest)) continue;
      requests.push({ chat: joined.get(chat.pulled.chatId)!, maxBytes: bytes, start: chat });
      room -= bytes;
    }
    if (room <= 0) return requests;
    const wanted = requests.map(({ chat, maxBytes: bytes, start }) =>
      Math.max(0, logBytes(chat) - bytes - (start ? bytesOf(start) : 0)),
    );
    const most = largestShare(wanted, room);
    // There is enough for all, but the logs may have grown since.
    const spare = most === Infinity ? wanted.reduce((left, want) => left - want, room) / requests.length : 0;
    return requests.map((request, index) => ({
      ...request,
      maxBytes: Math.floor(request.maxBytes + Math.min(wanted[index]!, most) + spare),
    }));
  }

  /** Reads each chat by the script; returns those that have something. */
  async #readBounded(
    unread: Unread,
    requests: readonly Request<Body>[],
    limit: number,
  ): Promise<ReadChat<Body>[]> {
    const found = await Promise.all(
      requests.map((request) =>
        this.#unreadable.attempt(request.chat.chatId, () =>
          request.start && request.start.sizes.length > 0
            ? this.#continue(unread, request.start, request.maxBytes, limit)
            : this.#readOne(unread, request, limit),
        ),
      ),
    );
    return found.filter((chat) => chat !== null);
  }

  async #readOne(
    { member, lookedAt }: Unread,
    { chat: { chatId, isMuted }, maxBytes }: Request<Body>,
    limit: number,
  ): Promise<ReadChat<Body> | null> {
    const slice = await this.#reader.read(chatId, { limit, maxBytes }, member);
    if (!slice) return null;
    const { epoch, lastId, ackedId, baseId, unread, messages, sizes, next } = slice;
    if (lastId === ackedId) {
      this.#quiet.add(member, chatId, lookedAt, baseId === lastId);
      return null;
    }
    const gap = toRange(ackedId + 1, baseId);
    if (!gap && messages.length === 0 && !next) return null;
    const pulled = { chatId, epoch, messages, unread, lastId, ackedId, ...(gap && { gap }), isMuted };
    return { pulled, sizes, ...(next && { next }) };
  }

  /** Appends entries only if they continue the others: the chat may have been trimmed, acked or replaced in between. */
  async #continue(
    { member }: Unread,
    { pulled, sizes }: ReadChat<Body>,
    maxBytes: number,
    limit: number,
  ): Promise<ReadChat<Body>> {
    const { chatId, epoch, lastId, messages } = pulled;
    const after = messages.at(-1)!.id;
    const range = { after, before: lastId + 1, limit: limit - messages.length, maxBytes };
    const slice = await this.#reader.read(chatId, range, member);
    const isNext = slice?.epoch === epoch && slice.baseId <= after && slice.ackedId <= after;
    if (!isNext) return { pulled, sizes };
    return {
      pulled: { ...pulled, messages: [...messages, ...slice.messages] },
      sizes: [...sizes, ...slice.sizes],
    };
  }
}

/** The first entry of a chat, if it was too large. */
function requestFirst<Body>(
  { pulled, sizes, next }: ReadChat<Body>,
  joined: ReadonlyMap<string, JoinedChat>,
): Request<Body>[] {
  if (sizes.length > 0 || !next) return [];
  return [{ chat: joined.get(pulled.chatId)!, maxBytes: next.bytes }];
}

function waitingOf({ score, head: [lastId = 0] }: JoinedChat): number {
  return lastId - ackedIdOf(score);
}

function logBytes({ head: [, bytes = 0] }: JoinedChat): number {
  return bytes;
}
