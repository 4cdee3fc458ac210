/**
 * Reads the entries after a member's cursors with plain reads, from chats whose heads are known. One script for each chat
 * costs the server three times as much, and on Cluster no script sees all chats.
 *
 * A log may be trimmed, or grow, between the reads of its head and its entries. Ids are dense, so this is detected: the
 * entries don't begin after the cursor, or their number differs. By then the log may also belong to a later chat of the
 * same name, so the epoch of the last ended chat is read after the entries.
 */
import type { Read } from '@mortise/redis';
import { readMany } from '@mortise/redis';
import type { ChatMessage } from '../log/chat-message.js';
import { toChatMessage } from '../log/chat-message.js';
import type { ChatsContext } from '../log/chats-context.js';
import { entryId } from '../log/entry.js';
import { ackedIdOf } from '../log/score.js';
import { SlotRule } from '../log/slot-rule.js';
import type { JoinedChat } from '../members/member-index.js';
import type { ReadChat } from './read-chat.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

interface WholeLogs<Body> {
  readonly chats: ReadChat<Body>[];
  /** Chats that have changed in between, have a gap, or continue with tombstones only: a script must read them. */
  readonly others: JoinedChat[];
}

/** The replies for one chat. */
interface Fetched {
  readonly entries: readonly string[];
  /** Number of entries after the cursor that don't count as unread. Undefined: all entries after the cursor were read. */
  readonly uncounted: number | undefined;
  /** The epoch of the last ended chat of this name; 0 for none. */
  readonly endedEpoch: number;
}

/** Chats in one MGET. */
const MAX_KEYS = 100;

export class WholeLogReader<Body> {
  readonly #context: ChatsContext;
  readonly #slotRule: SlotRule;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#slotRule = SlotRule.of(context.redis);
    this.#unreadable = UnreadableChats.of(context);
  }

  /**
   * The first entries after the cursors, whatever their size. One round trip.
   *
   * @param joined Chats with `UNREAD_HEAD`, and at least one entry after each cursor.
   * @param limit Maximum of entries of each chat.
   */
  async read(joined: readonly JoinedChat[], limit: number): Promise<WholeLogs<Body>> {
    const fetched = await this.#fetch(joined, limit).catch(ofOneChat);
    if (!fetched) return { chats: [], others: [...joined] };
    const found: WholeLogs<Body> = { chats: [], others: [] };
    for (const [index, chat] of joined.entries()) {
      const { chatId, score, isMuted } = chat;
      const [lastId = 0, , epoch = 0] = chat.head;
      const { entries, uncounted, endedEpoch } = fetched[index]!;
      const ackedId = ackedIdOf(score);
      const waiting = lastId - ackedId;
      const isWhole =
        entries.length === Math.min(waiting, limit) &&
        entryId(entries[0]!) === ackedId + 1 &&
        // Otherwise the head belongs to an ended chat, and these entries to the next one.
        endedEpoch < epoch;
      const read = isWhole
        ? await this.#unreadable.attempt(chatId, () => Promise.resolve(toMessages<Body>(entries, epoch)))
        : { messages: [], sizes: [] };
      if (!read) continue;
      const { messages, sizes } = read;
      if (messages.length === 0) {
        found.others.push(chat);
        continue;
      }
      const unread =
        uncounted === undefined
          ? messages.filter(({ kind }) => kind === 'message').length
          : waiting - uncounted;
      found.chats.push({ pulled: { chatId, epoch, messages, unread, lastId, ackedId, isMuted }, sizes });
    }
    return found;
  }

  /** One round trip; one more if the server turns out to enforce slots. */
  async #fetch(joined: readonly JoinedChat[], limit: number): Promise<Fetched[]> {
    const { redis, keys } = this.#context;
    const isTogether = !this.#slotRule.isEnforced;
    const reads: Read[] = [];
    const endedKeys: string[] = [];
    for (const { chatId, score, head } of joined) {
      const [lastId = 0] = head;
      const { log, uncounted, ended } = keys.chat(chatId);
      const ackedId = ackedIdOf(score);
      const waiting = lastId - ackedId;
      reads.push(['lrange', log, -waiting, waiting > limit ? limit - waiting - 1 : -1]);
      if (waiting > limit) reads.push(['zcount', uncounted, `(${ackedId}`, lastId]);
      // After the entries, so that an end before them is found.
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
      return this.#fetch(joined, limit);
    }
    let next = 0;
    const fetched = joined.map(({ score, head: [lastId = 0] }) => {
      const entries = replies[next++] as string[];
      const uncounted = lastId - ackedIdOf(score) > limit ? (replies[next++] as number) : undefined;
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
