/**
 * Reads the entries after a member's cursors with plain reads, from chats whose heads are known. One script for each chat
 * costs the server three times as much, and on Cluster no script sees all chats.
 *
 * A log may be trimmed, or grow, between the reads of its head and its entries. Ids are dense, so this is detected: the
 * entries don't begin after the cursor, or their number differs. By then the log may also belong to a later chat of its
 * name. So the epoch of the last ended chat is read after the entries.
 */
import type { Codecs, Read } from '@mortise/redis';
import { readEach } from '@mortise/redis';
import type { ChatMessage } from '../log/chat-message.js';
import { toChatMessage } from '../log/chat-message.js';
import type { ChatsContext } from '../log/context.js';
import { entryId } from '../log/entry.js';
import { ackedIdOf } from '../log/score.js';
import { SlotRule } from '../log/slot-rule.js';
import type { JoinedChat } from '../members/member-index.js';
import type { ReadChat } from './read-chat.js';
import { UnreadableChats } from './unreadable-chats.js';

interface WholeLogs<Body> {
  readonly chats: ReadChat<Body>[];
  /** Chats that have changed in between, have a gap, or continue with tombstones only: a script must read them. */
  readonly others: JoinedChat[];
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
    const fetched = await this.#fetch(joined, limit);
    const found: WholeLogs<Body> = { chats: [], others: [] };
    for (const [index, chat] of joined.entries()) {
      const { chatId, score, isMuted } = chat;
      const [lastId = 0, , epoch = 0] = chat.head;
      const replies = fetched[index]!;
      const ackedId = ackedIdOf(score);
      const waiting = lastId - ackedId;
      const read = await this.#unreadable.attempt(chatId, async () => {
        for (const reply of replies) if (reply instanceof Error) throw reply;
        const [entries, ended] = replies as [string[], string | null];
        const isWhole =
          entries.length === Math.min(waiting, limit) &&
          entryId(entries[0]!) === ackedId + 1 &&
          // Otherwise the head belongs to an ended chat, and these entries to the next one.
          Number(ended) < epoch;
        return isWhole ? toMessages<Body>(entries, epoch, this.#context.codecs) : { messages: [], sizes: [] };
      });
      if (!read) continue;
      const { messages, sizes } = read;
      if (messages.length === 0) {
        found.others.push(chat);
        continue;
      }
      const uncounted = replies[2] as number | undefined;
      const unread =
        uncounted === undefined
          ? messages.filter(({ kind }) => kind === 'message').length
          : waiting - uncounted;
      const pulled = { chatId, epoch, messages, unread, lastId, ackedId, isMuted };
      found.chats.push({ chat, pulled, sizes });
    }
    return found;
  }

  /**
   * The replies for each chat: its entries; the epoch of the last ended chat of its name. If more entries are after the
   * cursor, also the number of those that don't count as unread. One round trip; one more if the server turns out to enforce
   * slots.
   */
  async #fetch(joined: readonly JoinedChat[], limit: number): Promise<unknown[][]> {
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
      // After the entries, so that an end before them is found.
      if (isTogether) endedKeys.push(ended);
      else reads.push(['get', ended]);
      if (waiting > limit) reads.push(['zcount', uncounted, `(${ackedId}`, lastId]);
    }
    for (let from = 0; from < endedKeys.length; from += MAX_KEYS) {
      reads.push(['mget', ...endedKeys.slice(from, from + MAX_KEYS)]);
    }
    const replies = await readEach(redis, reads);
    const groups = isTogether ? replies.splice(-Math.ceil(joined.length / MAX_KEYS)) : [];
    if (groups.some((reply) => this.#slotRule.learn(reply))) return this.#fetch(joined, limit);
    for (const reply of groups) if (reply instanceof Error) throw reply;
    const together = groups.flat();
    let next = 0;
    return joined.map(({ score, head: [lastId = 0] }, index) => [
      replies[next++],
      isTogether ? together[index] : replies[next++],
      ...(lastId - ackedIdOf(score) > limit ? [replies[next++]] : []),
    ]);
  }
}

function toMessages<Body>(
  entries: readonly string[],
  epoch: number,
  codecs: Codecs | undefined,
): { messages: ChatMessage<Body>[]; sizes: number[] } {
  const messages: ChatMessage<Body>[] = [];
  const sizes: number[] = [];
  for (const entry of entries) {
    const message = toChatMessage<Body>(entry, epoch, codecs);
    if (!message) continue;
    messages.push(message);
    sizes.push(Buffer.byteLength(entry));
  }
  return { messages, sizes };
}
