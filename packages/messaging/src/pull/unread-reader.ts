/**
 * Reads as many unread entries of a member as fit into one reply, in two passes.
 *
 * The first pass divides the bytes equally among the chats. The head of a chat contains the size of its log: a log that fits
 * into its share is read completely, with plain reads. Of a larger one, a script returns the entries that fit, and the size
 * and time of the next one. So the bytes that Redis sends are bounded in advance.
 *
 * The second pass reads some chats by the script, again from their cursors. These have changed since the first pass, begin
 * with a gap or tombstones, or get unused bytes of others. The chat whose first message has waited longest is among them if
 * that message was too large. So small messages in other chats never block a large one forever.
 *
 * Rejected: the script for all chats, which costs the server three times as much. A rotation stored in Redis: each pull would
 * have to write, and the devices of a member would move it for each other.
 */
import type { ChatsContext } from '../log/context.js';
import { toRange } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/score.js';
import type { JoinedChat } from '../members/member-index.js';
import { ChatReader } from './chat-reader.js';
import type { Pulled } from './pulled.js';
import type { ReadChat } from './read-chat.js';
import { bytesOf, fit, largestShare, oldestOf } from './read-chat.js';
import { UnreadableChats } from './unreadable-chats.js';
import { WholeLogReader } from './whole-log-reader.js';

/** A chat to be read by the script. */
interface Request {
  readonly chat: JoinedChat;
  readonly maxBytes: number;
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
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#wholeLogs = new WholeLogReader(context);
    this.#reader = new ChatReader(context);
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * Up to `limit` entries of each chat and `maxBytes` of all, at least one. Chats without room are omitted. One or two round
   * trips. One more for each chat that turns out to be unreadable, or to begin with an older message that is too large.
   *
   * @param chats With `UNREAD_HEAD`, and an entry after the cursor.
   */
  async read(
    member: string,
    chats: readonly JoinedChat[],
    bounds: { readonly limit: number; readonly maxReplyBytes: number },
  ): Promise<Pulled<Body>[]> {
    if (chats.length === 0) return [];
    const { maxReplyBytes: maxBytes } = bounds;
    const limit = Math.max(1, Math.min(bounds.limit, Math.floor(MAX_ENTRIES / chats.length)));
    const share = largestShare(chats.map(logBytes), maxBytes);
    // A log is trimmed to maxMessages, so a longer distance from the cursor is a gap.
    const isWhole = (chat: JoinedChat): boolean =>
      logBytes(chat) <= share && waitingOf(chat) <= this.#context.limits.maxMessages;
    const large = chats.filter((chat) => !isWhole(chat)).map((chat) => ({ chat, maxBytes: share }));
    const [whole, bounded] = await Promise.all([
      this.#wholeLogs.read(chats.filter(isWhole), limit),
      this.#readBounded(member, large, limit),
    ]);
    const read = new Map([...whole.chats, ...bounded].map((found) => [found.chat, found]));
    const inOrder = (): ReadChat<Body>[] => chats.flatMap((chat) => read.get(chat) ?? []);
    let requests = secondPass(inOrder(), whole.others, share, maxBytes);
    while (requests.length > 0) {
      const found = await this.#readBounded(member, requests, limit);
      for (const { chat } of requests) read.delete(chat);
      for (const each of found) read.set(each.chat, each);
      // Only the oldest message is worth a further pass.
      requests = requestOldest(inOrder());
    }
    return fit(inOrder(), maxBytes);
  }

  /** Reads each chat by the script; returns those that have something. */
  async #readBounded(member: string, requests: readonly Request[], limit: number): Promise<ReadChat<Body>[]> {
    const found = await Promise.all(
      requests.map(({ chat, maxBytes }) =>
        this.#unreadable.attempt(chat.chatId, () =>
          this.#readOne(member, chat, { limit, maxBytes: Math.floor(maxBytes) }),
        ),
      ),
    );
    return found.filter((chat) => chat !== null);
  }

  async #readOne(
    member: string,
    chat: JoinedChat,
    range: { readonly limit: number; readonly maxBytes: number },
  ): Promise<ReadChat<Body> | null> {
    const { chatId, isMuted } = chat;
    const slice = await this.#reader.read(chatId, range, member);
    if (!slice) return null;
    const { epoch, lastId, ackedId, baseId, unread, messages, sizes, next } = slice;
    const gap = toRange(ackedId + 1, baseId);
    if (!gap && messages.length === 0 && !next) return null;
    const pulled = { chatId, epoch, messages, unread, lastId, ackedId, ...(gap && { gap }), isMuted };
    return { chat, pulled, sizes, ...(next && { next }) };
  }
}

/**
 * The requests of the second pass. Chats that were not read get their equal share. The longest waiting chats get one more
 * entry each, and equal parts of the bytes that are left.
 */
function secondPass(
  read: readonly ReadChat<unknown>[],
  others: readonly JoinedChat[],
  share: number,
  maxBytes: number,
): Request[] {
  let room = read.reduce((sum, chat) => sum - bytesOf(chat), maxBytes);
  const requests = requestOldest(read);
  const waiting = read
    .filter(({ chat, next }) => next && requests[0]?.chat !== chat)
    .toSorted((a, b) => a.next!.sentAt - b.next!.sentAt);
  if (requests.length + others.length === 0 && room < maxBytes * WORTH_SHARE) return [];
  for (const chat of others) requests.push({ chat, maxBytes: Math.min(share, room / others.length) });
  for (const request of requests) room -= request.maxBytes;
  const most = Math.max(1, Math.floor(room / WORTH_BYTES));
  const more: Request[] = [];
  for (const { chat, sizes, next } of waiting) {
    if (more.length === most) break;
    if (next!.bytes > room) continue;
    const bytes = sizes.reduce((sum, size) => sum + size, next!.bytes);
    more.push({ chat, maxBytes: bytes });
    room -= next!.bytes;
  }
  const wanted = more.map(({ chat, maxBytes: bytes }) => Math.max(0, logBytes(chat) - bytes));
  const extra = largestShare(wanted, Math.max(0, room));
  for (const [index, request] of more.entries()) {
    requests.push({ ...request, maxBytes: request.maxBytes + Math.min(wanted[index]!, extra) });
  }
  return requests;
}

/** The first message of all that were read, if it was too large. */
function requestOldest(read: readonly ReadChat<unknown>[]): Request[] {
  const oldest = oldestOf(read);
  if (!oldest?.next || oldest.sizes.length > 0) return [];
  return [{ chat: oldest.chat, maxBytes: oldest.next.bytes }];
}

function waitingOf({ score, head: [lastId = 0] }: JoinedChat): number {
  return lastId - ackedIdOf(score);
}

function logBytes({ head: [, bytes = 0] }: JoinedChat): number {
  return bytes;
}
