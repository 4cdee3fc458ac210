import { encodeName } from '@mortise/redis';
import type { ChatMessage } from '../chat/chat-message.js';
import { toChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { ackedIdOf } from '../log/standing.js';
import { chatRead } from '../scripts.gen.js';

/** Which part of a log to read. */
export interface Part {
  /** Only higher ids. */
  readonly after?: number;
  /** Only lower ids. */
  readonly before?: number | undefined;
  /** The last ones of these, not the first ones. */
  readonly isLatest?: boolean;
  readonly limit: number;
  /** The most bytes of entries; none come when the first one is larger. Default: any. */
  readonly maxBytes?: number;
}

/** An entry that was left in the log for its size. */
export interface LeftEntry {
  readonly bytes: number;
  /** In ms since 1970. */
  readonly sentAt: number;
}

/** A part of a log, and its chat, at one instant. */
export interface ChatSlice<Body> {
  readonly epoch: number;
  readonly lastId: number;
  /** The cursor of the member who reads; 0 for nobody. */
  readonly ackedId: number;
  /** Ids up to this one are gone. */
  readonly baseId: number;
  /** Messages behind the cursor. */
  readonly unread: number;
  readonly messages: ChatMessage<Body>[];
  /** Of each message, as it is stored. */
  readonly sizes: number[];
  /** The next one, if it did not fit. */
  readonly left?: LeftEntry;
}

type Reply = [
  epoch: number,
  last: number,
  score: string,
  base: number,
  unread: number,
  reached: number,
  entries: string[],
  leftBytes: number,
  leftAt: number,
];

/** Entries that one script call looks at: some ms of the server. */
const MAX_SCAN = 10_000;
/** More than any log has. */
const MAX_BYTES = 2 ** 40;

/** Reads parts of logs, each at one instant, without the places of deleted messages. */
export class ChatReader<Body> {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  /**
   * As much of the part as fits the limits; nothing only if there is nothing, or the first one is too large. One round trip;
   * one more for each 10,000 places of deleted messages side by side. Null when there is no such chat, or it doesn't have the member.
   *
   * @param member Who reads from their cursor on. Default: nobody, anything.
   */
  async read(chatId: string, part: Part, member?: string): Promise<ChatSlice<Body> | null> {
    const { redis, keys } = this.#context;
    const { isLatest = false, limit, maxBytes = Infinity } = part;
    let { after = 0, before = 0 } = part;
    for (;;) {
      const reply = (await chatRead.run(redis, keys.chat(chatId), {
        member: member === undefined ? '' : encodeName(member),
        after,
        before,
        isLatest: isLatest ? 1 : 0,
        limit,
        maxScan: MAX_SCAN,
        maxBytes: Math.min(maxBytes, MAX_BYTES),
      })) as Reply | null;
      if (!reply) return null;
      const [epoch, lastId, score, baseId, unread, reached, entries, leftBytes, leftAt] = reply;
      const isThrough = isLatest
        ? reached - 1 <= Math.max(after, baseId)
        : reached >= (before || lastId + 1) - 1;
      if (entries.length > 0 || leftBytes > 0 || isThrough) {
        return {
          epoch,
          lastId,
          ackedId: ackedIdOf(score),
          baseId,
          unread,
          messages: entries.map((entry) => toChatMessage<Body>(entry, epoch)!),
          sizes: entries.map((entry) => Buffer.byteLength(entry)),
          ...(leftBytes > 0 && { left: { bytes: leftBytes, sentAt: epoch + leftAt } }),
        };
      }
      if (isLatest) before = reached;
      else after = reached;
    }
  }
}
