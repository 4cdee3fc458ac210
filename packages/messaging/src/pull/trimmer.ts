import { requireInteger, requireName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import type { IdRange } from '../log/entry.js';
import { toRange } from '../log/entry.js';
import type { AckOptions } from '../options.js';
import { resolveAckOptions } from '../resolve-options.js';
import { chatTrim } from '../scripts.gen.js';

/** Drops the oldest messages of chats. */
export class Trimmer {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  /** The dropped ids; null when none of them was stored. */
  async trim(chatId: string, upToId: number, options: AckOptions): Promise<IdRange | null> {
    requireName('chatId', chatId);
    requireInteger('upToId', upToId, { min: 0 });
    const epoch = resolveAckOptions(options);
    const { redis, keys } = this.#context;
    const { chat, log, uncounted } = keys.chat(chatId);
    const reply = (await chatTrim.run(
      redis,
      { chat, log, uncounted },
      { epoch: epoch === undefined ? '' : -epoch, upToId },
    )) as [lastId: number, fromId?: number, toId?: number] | null;
    if (!reply) throw UnknownIdError.chat(chatId);
    const [lastId, fromId, toId] = reply;
    if (fromId === 0) throw UnknownIdError.message('chat', chatId, { id: upToId, lastId, epoch });
    return fromId === undefined ? null : (toRange(fromId, toId!) ?? null);
  }
}
