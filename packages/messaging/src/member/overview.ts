import type { Read } from '@mortise/redis';
import { readMany } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import type { ChatsOfOptions } from '../options.js';
import type { ChatSlice } from './chat-reader.js';
import { ChatReader } from './chat-reader.js';
import type { MemberIndex } from './member-index.js';
import { ofOneChat, UnreadableChats } from './unreadable-chats.js';

/** A chat as its member sees it in a list. */
export interface ChatOverview {
  readonly chatId: string;
  readonly unread: number;
  readonly lastId: number;
  readonly ackedId: number;
  /** When the last entry came, or the chat was created, in ms since 1970. */
  readonly lastAt: number;
  readonly isMuted: boolean;
  readonly epoch: number;
}

/** The chats of a member. */
export class Overview {
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

  async chatsOf(member: string, options: ChatsOfOptions): Promise<ChatOverview[]> {
    const head = [HEAD.lastId, HEAD.epoch, HEAD.lastAt];
    const { includeMuted = true } = options;
    const found = await this.#unreadable.find(this.#index, member, head, includeMuted);
    const chats = found.standings.map(
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

  /**
   * Those behind the cursor, less those that don't count; null for chats that can't be read. One round trip if there are any;
   * one more for chats that have dropped unread messages.
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
    const replies = (await readMany(redis, reads).catch(ofOneChat)) as number[] | null;
    let next = 0;
    return Promise.all(
      chats.map(async ({ chatId, lastId, ackedId }) => {
        if (lastId <= ackedId) return 0;
        if (replies) {
          const stored = replies[next]!;
          const uncounted = replies[next + 1]!;
          next += 2;
          if (stored >= lastId - ackedId) return lastId - ackedId - uncounted;
        }
        const read = (): Promise<ChatSlice<unknown> | null> =>
          this.#reader.read(chatId, { limit: 1 }, member);
        return this.#unreadable.attempt(chatId, async () => (await read())?.unread ?? 0);
      }),
    );
  }
}
