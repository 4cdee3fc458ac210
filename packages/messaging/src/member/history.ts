import { requireInteger } from '@mortise/redis';
import type { ChatMessage } from '../chat/chat-message.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { UnknownChatError } from '../errors.js';
import { CHAT_DEFAULTS } from '../options.js';
import type { HistoryOptions } from '../options.js';
import { ChatReader } from './chat-reader.js';

/** Reads what a chat has stored. */
export class History<Body> {
  readonly #reader: ChatReader<Body>;

  constructor(context: ChatsContext) {
    this.#reader = new ChatReader(context);
  }

  async read(chatId: string, options: HistoryOptions): Promise<ChatMessage<Body>[]> {
    const limit = requireInteger('limit', options.limit ?? CHAT_DEFAULTS.limit, { min: 1, max: 1_000 });
    const after =
      options.after === undefined ? undefined : requireInteger('after', options.after, { min: 0 });
    const before =
      options.before === undefined ? undefined : requireInteger('before', options.before, { min: 1 });
    const slice = await this.#reader.read(chatId, {
      after: after ?? 0,
      before,
      isLatest: after === undefined,
      limit,
    });
    if (!slice) throw new UnknownChatError(chatId);
    return slice.messages;
  }
}
