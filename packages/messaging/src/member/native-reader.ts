/**
 * Reads what is behind a member's cursors in chats whose heads are known, with native reads: a script for each chat costs
 * the server three times as much, and on Cluster no script sees all of them.
 *
 * A log may be trimmed, or grow, between its head and its entries. Ids are dense, so that shows: the entries don't begin
 * behind the cursor, or are not as many as there should be. And it may be that of another chat of the same name by then; so
 * behind the entries is asked which chat ended last.
 */
import type { Read } from '@mortise/redis';
import { readMany } from '@mortise/redis';
import type { ChatMessage } from '../chat/chat-message.js';
import { toChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { entryId } from '../log/entry.js';
import { SlotRule } from '../log/slot-rule.js';
import { ackedIdOf } from '../log/standing.js';
import type { Standing } from './member-index.js';
import type { ReadChat } from './read-chat.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

/** What native reads have come to. */
interface Found<Body> {
  readonly chats: ReadChat<Body>[];
  /** Chats to be read again, at one instant. */
  readonly again: Standing[];
}

/** What was read of one chat. */
interface Fetched {
  readonly entries: readonly string[];
  /** Entries behind the cursor that are no messages. Undefined: all of them were read. */
  readonly uncounted: number | undefined;
  /** Of the chat of this name that ended last; 0: none, as far as is known. */
  readonly endedEpoch: number;
}

/** Chats that one MGET asks for. */
const MAX_KEYS = 100;

export class NativeReader<Body> {
  readonly #context: ChatsContext;
  readonly #slotRule: SlotRule;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#slotRule = SlotRule.of(context.redis);
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * The first entries behind the cursors, whatever their size. One round trip. To be read again is what has changed meanwhile, has
   * lost unread messages, or has nothing but places of deleted messages next.
   *
   * @param standings With `UNREAD_HEAD`, and something behind each cursor.
   * @param share Entries of each chat.
   */
  async read(standings: readonly Standing[], share: number): Promise<Found<Body>> {
    const fetched = await this.#fetch(standings, share).catch(ofOneChat);
    if (!fetched) return { chats: [], again: [...standings] };
    const found: Found<Body> = { chats: [], again: [] };
    for (const [index, standing] of standings.entries()) {
      const {
        chatId,
        score,
        head: [lastId = 0, , epoch = 0],
        isMuted,
      } = standing;
      const { entries, uncounted, endedEpoch } = fetched[index]!;
      const ackedId = ackedIdOf(score);
      const behind = lastId - ackedId;
      const isWhole =
        entries.length === Math.min(behind, share) &&
        entryId(entries[0]!) === ackedId + 1 &&
        // Otherwise the chat of the head has ended, and these are entries of the next one.
        endedEpoch < epoch;
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

  /** One round trip; one more where it turns out that slots count. */
  async #fetch(standings: readonly Standing[], share: number): Promise<Fetched[]> {
    const { redis, keys } = this.#context;
    const isTogether = !this.#slotRule.isEnforced;
    const reads: Read[] = [];
    const endedKeys: string[] = [];
    for (const {
      chatId,
      score,
      head: [lastId = 0],
    } of standings) {
      const { log, uncounted, ended } = keys.chat(chatId);
      const ackedId = ackedIdOf(score);
      const behind = lastId - ackedId;
      reads.push(['lrange', log, -behind, behind > share ? share - behind - 1 : -1]);
      if (behind > share) reads.push(['zcount', uncounted, `(${ackedId}`, lastId]);
      // Behind the entries, so that it tells of every end before them.
      if (isTogether) endedKeys.push(ended);
      else reads.push(['get', ended]);
    }
    for (let from = 0; from < endedKeys.length; from += MAX_KEYS) {
      reads.push(['mget', ...endedKeys.slice(from, from + MAX_KEYS)]);
    }
    let replies: unknown[];
    try {
      replies = await readMany(redis, reads);
    } catch (error) {
      if (!isTogether || !this.#slotRule.learn(error)) throw error;
      return this.#fetch(standings, share);
    }
    let next = 0;
    const fetched = standings.map(({ score, head: [lastId = 0] }) => {
      const entries = replies[next++] as string[];
      const uncounted = lastId - ackedIdOf(score) > share ? (replies[next++] as number) : undefined;
      return { entries, uncounted, endedEpoch: isTogether ? 0 : Number(replies[next++]) };
    });
    if (!isTogether) return fetched;
    const ended = (replies.slice(next) as (string | null)[][]).flat();
    return fetched.map((each, index) => ({ ...each, endedEpoch: Number(ended[index]) }));
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
