import { encodeName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import type { ChatMessage } from '../log/chat-message.js';
import { toChatMessage } from '../log/chat-message.js';
import type { ChatsContext } from '../log/context.js';
import { ackedIdOf } from '../log/score.js';
import type { HistoryOptions } from '../options.js';
import { resolveHistoryOptions } from '../resolve-options.js';
import { chatRead } from '../scripts.gen.js';

/** A range of a log. */
export interface LogRange {
  /** Only higher ids. */
  readonly after?: number | undefined;
  /** Only lower ids. */
  readonly before?: number | undefined;
  /** The last ids of the range, not the first ones. */
  readonly isLatest?: boolean;
  readonly limit: number;
  /** Maximum bytes of entries; returns none if the first one is larger. Default: no limit. */
  readonly maxBytes?: number;
}

/** The next entry, which was too large for the limit. */
export interface NextEntry {
  readonly bytes: number;
  /** In ms since 1970. */
  readonly sentAt: number;
}

/** A range of a log, and the state of its chat, at one instant. */
export interface ChatSlice<Body> {
  readonly epoch: number;
  readonly lastId: number;
  /** The cursor of the reading member; 0 without a member. */
  readonly ackedId: number;
  /** Ids up to this one are gone. */
  readonly baseId: number;
  /** Messages after the cursor. */
  readonly unread: number;
  readonly messages: ChatMessage<Body>[];
  /** The stored bytes of each message. */
  readonly sizes: number[];
  /** Absent when every entry fitted. */
  readonly next?: NextEntry;
}

type Reply = [
  epoch: number,
  last: number,
  score: string,
  base: number,
  unread: number,
  reached: number,
  entries: string[],
  nextBytes: number,
  nextAt: number,
];

/** Entries that one script call scans: a few ms of the server. */
const MAX_SCAN = 10_000;
/** More than any log has. */
const MAX_BYTES = 2 ** 40;

/** Reads ranges of logs by a script, each at one instant, without tombstones. */
export class ChatReader<Body> {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async history(chatId: string, options: HistoryOptions): Promise<ChatMessage<Body>[]> {
    const { before, after, limit } = resolveHistoryOptions(options);
    const slice = await this.read(chatId, { after, before, isLatest: after === undefined, limit });
    if (!slice) throw UnknownIdError.chat(chatId);
    return slice.messages;
  }

  /**
   * As many entries of the range as fit. One round trip; one more for each 10,000 consecutive tombstones. Null for an
   * unknown chat or a non-member.
   */
  async read(chatId: string, range: LogRange, member?: string): Promise<ChatSlice<Body> | null> {
    const { redis, keys } = this.#context;
    const { isLatest = false, limit, maxBytes = Infinity } = range;
    let { after = 0, before = 0 } = range;
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
      const [epoch, lastId, score, baseId, unread, reached, entries, nextBytes, nextAt] = reply;
      const isThrough = isLatest
        ? reached - 1 <= Math.max(after, baseId)
        : reached >= (before || lastId + 1) - 1;
      if (entries.length > 0 || nextBytes > 0 || isThrough) {
        return {
          epoch,
          lastId,
          ackedId: ackedIdOf(score),
          baseId,
          unread,
          messages: entries.map((entry) => toChatMessage<Body>(entry, epoch, this.#context.codecs)!),
          sizes: entries.map((entry) => Buffer.byteLength(entry)),
          ...(nextBytes > 0 && { next: { bytes: nextBytes, sentAt: epoch + nextAt } }),
        };
      }
      if (isLatest) before = reached;
      else after = reached;
    }
  }
}
