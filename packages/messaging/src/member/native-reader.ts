/**
 * Reads what is behind a member's cursors in chats whose heads are known, with native reads: a script for each chat costs
 * the server three times as much, and on Cluster no script sees all of them.
 *
 * A log may be trimmed, or grow, between its head and its entries. Ids are dense, so that shows: the entries don't begin
 * behind the cursor, or are not as many as there should be.
 */
import type { Read } from '@mortise/redis';
import { readMany } from '@mortise/redis';
import type { ChatMessage } from '../chat/chat-message.js';
import { toChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { entryId } from '../log/entry.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import type { Standing } from './member-index.js';
import type { ReadChat } from './read-chat.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

/** What native reads have come to. */
interface Found<Body> {
  readonly chats: ReadChat<Body>[];
  /** Chats to be read again, at one instant. */
  readonly again: Standing[];
}

interface Bounds {
  /** Entries of each chat. */
  readonly share: number;
  /** Chats that were created from then on, in ms since 1970, may have been created since their heads were read. */
  readonly youngFrom: number;
}

export class NativeReader<Body> {
  readonly #context: ChatsContext;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * The first entries behind the cursors, whatever their size. One round trip. To be read again is what has changed meanwhile, has
   * lost unread messages, was just created, or has nothing but places of deleted messages next.
   *
   * @param standings With `UNREAD_HEAD`, and something behind each cursor.
   */
  async read(standings: readonly Standing[], { share, youngFrom }: Bounds): Promise<Found<Body>> {
    const { redis, keys } = this.#context;
    const reads: Read[] = [];
    for (const {
      chatId,
      score,
      head: [lastId = 0],
    } of standings) {
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
    if (!replies) return { chats: [], again: [...standings] };
    const found: Found<Body> = { chats: [], again: [] };
    let next = 0;
    for (const standing of standings) {
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
      const read = isWhole
        ? await this.#unreadable.attempt(chatId, () => Promise.resolve(toMessages<Body>(entries, epoch)))
        : { messages: [], sizes: [] };
      if (!read) continue;
      const { messages, sizes } = read;
      if (messages.length === 0) {
        found.again.push(standing);
        continue;
      }
      const unread =
        uncounted === undefined
          ? messages.filter(({ kind }) => kind === 'message').length
          : behind - uncounted;
      found.chats.push({ pulled: { chatId, epoch, messages, unread, lastId, ackedId, isMuted }, sizes });
    }
    return found;
  }
}

function toMessages<Body>(
  entries: readonly string[],
  epoch: number,
): { messages: ChatMessage<Body>[]; sizes: number[] } {
  const messages: ChatMessage<Body>[] = [];
  const sizes: number[] = [];
  for (const entry of entries) {
    const message = toChatMessage<Body>(entry, epoch);
    if (!message) continue;
    messages.push(message);
    sizes.push(Buffer.byteLength(entry));
  }
  return { messages, sizes };
}
