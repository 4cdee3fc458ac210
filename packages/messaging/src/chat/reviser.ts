import { requireInteger, requireName } from '@mortise/redis';
import {
  NotAllowedError,
  NotAMemberError,
  ReadOnlyMemberError,
  UnknownChatError,
  UnknownMessageError,
} from '../errors.js';
import { encodeBody, encodeMember, toRange } from '../log/entry.js';
import { limitsOperand } from '../log/limits-operand.js';
import { encodeDeletion, encodeEdit } from '../log/sender-id.js';
import type { PostOptions } from '../options.js';
import { chatRevise } from '../scripts.gen.js';
import { DROPPED } from '../telemetry/metrics.js';
import type { ChatsContext } from './chats-context.js';
import type { PostResult } from './poster.js';

/** Edits and deletes messages. One call each: they are rare. */
export class Reviser {
  readonly #context: ChatsContext;
  readonly #limits: Buffer;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#limits = limitsOperand(context.limits);
  }

  async edit(
    chatId: string,
    sender: string,
    messageId: number,
    body: unknown,
    { id }: PostOptions,
  ): Promise<PostResult> {
    const json = encodeBody(requireName('chatId', chatId), body, this.#context.limits.maxBodyBytes);
    return this.#revise(chatId, 'E', sender, messageId, json, id);
  }

  async delete(chatId: string, sender: string, messageId: number): Promise<PostResult> {
    return this.#revise(chatId, 'D', sender, messageId, '', undefined);
  }

  async #revise(
    chatId: string,
    kind: 'E' | 'D',
    sender: string,
    messageId: number,
    json: string,
    id: string | undefined,
  ): Promise<PostResult> {
    const { redis, keys, hub, tally } = this.#context;
    const author = encodeMember('sender', sender);
    const message = requireInteger('messageId', messageId, { min: 1 });
    const reply = (await chatRevise.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      limits: this.#limits,
      kind,
      sender: author,
      message,
      field: kind === 'D' ? encodeDeletion(author, message) : encodeEdit(author, message, id),
      body: json,
    })) as [number, number, ...(number | string)[]] | null;
    if (reply === null) throw new UnknownChatError(chatId);
    const [eventId, lastId, ...more] = reply;
    if (eventId !== 0) {
      const dropped = toRange(Number(more[0] ?? 0), Number(more[1] ?? 0));
      if (dropped) tally?.count(DROPPED, dropped.toId + 1 - dropped.fromId);
      return {
        id: Math.abs(eventId),
        isDuplicate: eventId < 0 && (kind === 'D' || id !== undefined),
        ...(dropped && { dropped }),
      };
    }
    if (more[0] === 'N') throw new NotAMemberError(chatId, sender);
    if (more[0] === 'R') throw new ReadOnlyMemberError(chatId, sender);
    if (more[0] === 'M') throw new UnknownMessageError(chatId, messageId, lastId, 'chat');
    throw new NotAllowedError(chatId, sender, `${kind === 'E' ? 'edit' : 'delete'} message ${messageId}`);
  }
}
