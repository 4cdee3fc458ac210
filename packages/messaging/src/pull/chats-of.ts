import type { Read } from '@mortise/redis';
import { callRedis, readEach, requireName } from '@mortise/redis';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { ackedIdOf, HEAD } from '../log/score.js';
import type { MemberIndex } from '../members/member-index.js';
import type { ChatsOfOptions } from '../options.js';
import { resolveChatsOfOptions } from '../resolve-options.js';
import type { ChatSlice } from './chat-reader.js';
import { ChatReader } from './chat-reader.js';
import { UnreadableChats } from './unreadable-chats.js';

/** A chat in the list of its member. */
export interface ChatOverview {
  readonly chatId: string;
  readonly unread: number;
  readonly lastId: number;
  readonly ackedId: number;
  /** When the last entry was stored or the chat was created, ms since 1970. */
  readonly lastAt: number;
  readonly isMuted: boolean;
  readonly epoch: number;
}

/** Lists the chats of a member, and counts their unread messages without reading them. */
export class ChatsOf {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #reader: ChatReader<unknown>;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext, index: MemberIndex) {
    this.#context = context;
    this.#index = index;
    this.#reader = new ChatReader(context);
    this.#unreadable = UnreadableChats.of(context);
  }

  async list(member: string, options: ChatsOfOptions): Promise<ChatOverview[]> {
    requireName('member', member);
    const { includeMuted } = resolveChatsOfOptions(options);
    const head = [HEAD.lastId, HEAD.epoch, HEAD.lastAt];
    const found = await this.#index.find(member, head, includeMuted, this.#unreadable.known());
    const chats = found.joined.map(
      ({ chatId, score, head: [lastId = 0, epoch = 0, lastAt = 0], isMuted }) => {
        const ackedId = ackedIdOf(score);
        return { chatId, lastId, ackedId, lastAt: epoch + lastAt, isMuted, epoch };
      },
    );
    this.#index.clean(member, found.useless);
    const counts = await this.#countUnread(member, chats);
    this.#unreadable.report(found.chatIds, options);
    return chats.flatMap((chat, index) => {
      const unread = counts[index] ?? null;
      return unread === null ? [] : { ...chat, unread };
    });
  }

  /** The unread messages of one chat, or of all chats that `pull` would return, so without muted ones. */
  async unread(member: string, chatId: string | undefined): Promise<number> {
    if (chatId === undefined) {
      const chats = await this.list(member, { includeMuted: false });
      return chats.reduce((sum, { unread }) => sum + unread, 0);
    }
    requireName('chatId', chatId);
    requireName('member', member);
    const slice = await this.#reader.read(chatId, { limit: 1 }, member);
    if (slice) return slice.unread;
    const { redis, keys } = this.#context;
    const exists = (await callRedis(redis, 'exists', [keys.chat(chatId).chat])) === 1;
    throw exists ? NotAllowedError.notAMember(chatId, member) : UnknownIdError.chat(chatId);
  }

  /**
   * The number of entries after each cursor, minus those that don't count; null for unreadable chats. One round trip if
   * there are any chats; one more for chats that have dropped unread messages.
   */
  async #countUnread(
    member: string,
    chats: readonly Pick<ChatOverview, 'chatId' | 'lastId' | 'ackedId'>[],
  ): Promise<(number | null)[]> {
    const { redis, keys } = this.#context;
    const reads: Read[] = [];
    for (const { chatId, lastId, ackedId } of chats) {
      if (lastId <= ackedId) continue;
      const { log, uncounted } = keys.chat(chatId);
      reads.push(['llen', log], ['zcount', uncounted, `(${ackedId}`, lastId]);
    }
    const replies = (await readEach(redis, reads)) as (number | Error)[];
    let next = 0;
    return Promise.all(
      chats.map(async ({ chatId, lastId, ackedId }) => {
        if (lastId <= ackedId) return 0;
        const [stored, uncounted] = [replies[next++]!, replies[next++]!];
        for (const reply of [stored, uncounted]) {
          if (!(reply instanceof Error)) continue;
          this.#unreadable.add(chatId, reply);
          return null;
        }
        const waiting = lastId - ackedId;
        if (Number(stored) >= waiting) return waiting - Number(uncounted);
        const read = (): Promise<ChatSlice<unknown> | null> =>
          this.#reader.read(chatId, { limit: 1 }, member);
        return this.#unreadable.attempt(chatId, async () => (await read())?.unread ?? 0);
      }),
    );
  }
}
