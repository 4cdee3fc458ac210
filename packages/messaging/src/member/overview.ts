import type { Read } from '@mortise/redis';
import { readMany } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { ackedIdOf, HEAD } from '../log/standing.js';
import type { ChatsOfOptions } from '../options.js';
import { ChatReader } from './chat-reader.js';
import type { MemberIndex } from './member-index.js';

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

  constructor(context: ChatsContext, index: MemberIndex) {
    this.#context = context;
    this.#index = index;
    this.#reader = new ChatReader(context);
  }

  async chatsOf(member: string, { includeMuted = true }: ChatsOfOptions): Promise<ChatOverview[]> {
    const head = [HEAD.lastId, HEAD.epoch, HEAD.lastAt];
    const { standings, useless } = await this.#index.find(member, head, includeMuted);
    const chats = standings.map(({ chatId, score, head: [lastId = 0, epoch = 0, lastAt = 0], isMuted }) => {
      const ackedId = ackedIdOf(score);
      return { chatId, lastId, ackedId, lastAt: epoch + lastAt, isMuted, epoch };
    });
    const [counts] = await Promise.all([
      this.#countUnread(member, chats),
      this.#index.forget(member, useless),
    ]);
    return chats.map((chat, index) => ({ ...chat, unread: counts[index]! }));
  }

  /**
   * Those behind the cursor, less those that don't count. One round trip if there are any; one more for chats that have
   * dropped unread messages.
   */
  async #countUnread(
    member: string,
    chats: readonly Pick<ChatOverview, 'chatId' | 'lastId' | 'ackedId'>[],
  ): Promise<number[]> {
    const { redis, keys } = this.#context;
    const reads: Read[] = [];
    for (const { chatId, lastId, ackedId } of chats) {
      if (lastId <= ackedId) continue;
      const { log, uncounted } = keys.chat(chatId);
      reads.push(['llen', log], ['zcount', uncounted, `(${ackedId}`, lastId]);
    }
    const replies = (await readMany(redis, reads)) as number[];
    let next = 0;
    return Promise.all(
      chats.map(async ({ chatId, lastId, ackedId }) => {
        if (lastId <= ackedId) return 0;
        const stored = replies[next]!;
        const uncounted = replies[next + 1]!;
        next += 2;
        if (stored >= lastId - ackedId) return lastId - ackedId - uncounted;
        const slice = await this.#reader.read(chatId, { limit: 1 }, member);
        return slice?.unread ?? 0;
      }),
    );
  }
}
