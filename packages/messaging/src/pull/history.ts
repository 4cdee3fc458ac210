import { UnknownIdError } from '../errors.js';
import type { ChatMessage } from '../log/chat-message.js';
import type { ChatsContext } from '../log/chats-context.js';
import { resolveHistoryOptions } from '../resolve-options.js';
import type { HistoryOptions } from '../options.js';
import { ChatReader } from './chat-reader.js';

/** Reads the stored messages of a chat. */
export class History<Body> {
  readonly #reader: ChatReader<Body>;

  constructor(context: ChatsContext) {
    this.#reader = new ChatReader(context);
  }

  async read(chatId: string, options: HistoryOptions): Promise<ChatMessage<Body>[]> {
    const { before, after, limit } = resolveHistoryOptions(options);
    const slice = await this.#reader.read(chatId, { after, before, isLatest: after === undefined, limit });
    if (!slice) throw UnknownIdError.chat(chatId);
    return slice.messages;
  }
}
