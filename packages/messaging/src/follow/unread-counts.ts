import { Coalescer, encodeName } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import { persisted } from '../persist.js';
import { followUnread } from '../scripts.gen.js';

/** Members in one script call. */
const MAX_BATCH = 500;

/** Counts unread messages for followers: those of a chat and tick in one round trip, O(log(entries)) for each. */
export class UnreadCounts {
  readonly #context: ChatsContext;
  readonly #reads = new Coalescer<string, string, number>((chatId, members) => this.#read(chatId, members), {
    maxBatch: MAX_BATCH,
  });

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  /** Waits for the end of an outage. Rejects with the signal's reason, with ERR_CLIENT_CLOSED and errors of the server. */
  of(chatId: string, member: string, signal: AbortSignal): Promise<number> {
    return persisted(this.#context.redis, signal, () => this.#reads.submit(chatId, member));
  }

  async #read(chatId: string, members: readonly string[]): Promise<number[]> {
    const { redis, keys } = this.#context;
    return (await followUnread.run(redis, keys.chat(chatId), {
      members: members.map(encodeName),
    })) as number[];
  }
}
