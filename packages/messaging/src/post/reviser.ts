import { requireInteger, requireName } from '@mortise/redis';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { encodeBody, encodeMember, toRange } from '../log/entry.js';
import { deletionKey, editKey } from '../log/message-key.js';
import type { PostOptions } from '../options.js';
import { resolvePostOptions } from '../resolve-options.js';
import { chatRevise } from '../scripts.gen.js';
import { DROPPED } from '../telemetry/metrics.js';
import type { PostResult } from './poster.js';

interface Revision {
  readonly kind: 'E' | 'D';
  readonly chatId: string;
  readonly sender: string;
  /** The sender as stored. */
  readonly author: string;
  readonly messageId: number;
  readonly key: Buffer;
  readonly json: string;
  /** Whether the event may have been stored by an earlier call of the sender. */
  readonly isRepeatable: boolean;
}

/** Edits and deletes messages. One script call each: they are rare. */
export class Reviser {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async edit(
    chatId: string,
    sender: string,
    messageId: number,
    body: unknown,
    options: PostOptions,
  ): Promise<PostResult> {
    const id = resolvePostOptions('edit', options);
    const json = encodeBody(requireName('chatId', chatId), body, this.#context);
    const author = encodeMember('sender', sender);
    requireInteger('messageId', messageId, { min: 1 });
    const key = editKey(author, messageId, id);
    const isRepeatable = id !== undefined;
    return this.#revise({ kind: 'E', chatId, sender, author, messageId, key, json, isRepeatable });
  }

  async delete(chatId: string, sender: string, messageId: number): Promise<PostResult> {
    const author = encodeMember('sender', sender);
    requireInteger('messageId', messageId, { min: 1 });
    const key = deletionKey(author, messageId);
    return this.#revise({ kind: 'D', chatId, sender, author, messageId, key, json: '', isRepeatable: true });
  }

  async #revise(revision: Revision): Promise<PostResult> {
    const { kind, chatId, sender, author, messageId, key, json, isRepeatable } = revision;
    const { redis, keys, limits, hub, telemetry } = this.#context;
    const reply = (await chatRevise.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      limits: limits.packed,
      kind,
      sender: author,
      message: messageId,
      messageKey: key,
      body: json,
    })) as [number, number, ...(number | string)[]] | null;
    if (reply === null) throw UnknownIdError.chat(chatId);
    const [eventId, lastId, ...more] = reply;
    if (eventId !== 0) {
      const dropped = toRange(Number(more[0] ?? 0), Number(more[1] ?? 0));
      if (dropped) telemetry?.count(DROPPED, dropped.toId + 1 - dropped.fromId);
      const isDuplicate = eventId < 0 && isRepeatable;
      return { id: Math.abs(eventId), isDuplicate, ...(dropped && { dropped }) };
    }
    const [reason] = more;
    if (reason === 'N') throw NotAllowedError.notAMember(chatId, sender);
    if (reason === 'R') throw NotAllowedError.readOnly(chatId, sender);
    if (reason === 'M') throw UnknownIdError.message('chat', chatId, { id: messageId, lastId });
    throw NotAllowedError.action(chatId, sender, `${kind === 'E' ? 'edit' : 'delete'} message ${messageId}`);
  }
}
