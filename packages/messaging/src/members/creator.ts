import { ArgumentTypeError, requireName } from '@mortise/redis';
import { randomUUID } from 'node:crypto';
import { TooManyError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { encodeBody, encodeMember } from '../log/entry.js';
import { messageKey } from '../log/message-key.js';
import { resolveCreateOptions } from '../resolve-options.js';
import type { CreateOptions } from '../options.js';
import { chatCreate } from '../scripts.gen.js';
import { POSTED } from '../telemetry/metrics.js';
import { enterIndexed } from './index-guard.js';
import type { MemberIndex } from './member-index.js';
import type { Mutes } from './mutes.js';

/** The result of `create`. */
export interface CreateResult {
  readonly chatId: string;
  /**
   * False if the chat existed; then nothing was changed. Also false if ioredis has resent a call with a `chatId` after a lost
   * reply.
   */
  readonly isNew: boolean;
  /**
   * The id of the first message, stored by this call or by an earlier one with the same `id`. Without an `id`, the id of an
   * equal message that is still stored. Absent without a message.
   */
  readonly id?: number;
}

const CREATED = 1;
const TOO_LATE = -1;

/** Creates chats. */
export class Creator {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #mutes: Mutes;

  constructor(context: ChatsContext, index: MemberIndex, mutes: Mutes) {
    this.#context = context;
    this.#index = index;
    this.#mutes = mutes;
  }

  async create(options: CreateOptions): Promise<CreateResult> {
    const { sender, members, body, id, chatId: givenId } = resolveCreateOptions(options);
    const { redis, keys, limits, hub, telemetry } = this.#context;
    const chatId = requireName('chatId', givenId ?? randomUUID());
    if (id !== undefined) requireName('id', id);
    const author = encodeMember('sender', sender);
    if (!Array.isArray(members)) throw new ArgumentTypeError('members must be an array of names');
    const names = [...new Set([sender, ...(members as string[])])];
    const [, ...others] = names.map((name) => encodeMember('member', name));
    if (names.length > limits.maxMembers) throw TooManyError.members(chatId, names.length, limits.maxMembers);
    const json = body === undefined ? '' : encodeBody(chatId, body, this.#context);
    // Remembering the key of each first message would cost every new chat a quarter of its memory.
    const key = body === undefined || id === undefined ? '' : messageKey(author, id);
    return enterIndexed(
      (notBefore) => this.#mutes.enter(chatId, names, notBefore),
      async (indexed, notAfter) => {
        const instants = indexed.map(({ joinedAt }) => joinedAt);
        const [outcome, firstId, now] = (await chatCreate.run(redis, keys.chat(chatId), {
          publish: hub.publishCommand,
          keepMs: limits.keepMs,
          dedupMs: limits.dedupMs,
          keepAcked: limits.keepAcked,
          notAfter,
          notBefore: instants.reduce((highest, instant) => Math.max(highest, instant)),
          indexedFrom: instants.reduce((lowest, instant) => Math.min(lowest, instant)),
          messageKey: key,
          body: json,
          sender: author,
          others,
        })) as [number, number, number];
        if (outcome === TOO_LATE) return { tooLateAt: now, leftAt: firstId };
        if (outcome === CREATED && firstId > 0) telemetry?.count(POSTED, 1);
        if (outcome !== CREATED) await this.#index.withdraw(chatId, names, indexed);
        // Only a resend of this call can have created a chat with a new UUID.
        if (givenId === undefined) return { result: { chatId, isNew: true, ...(json !== '' && { id: 1 }) } };
        return { result: { chatId, isNew: outcome === CREATED, ...(firstId > 0 && { id: firstId }) } };
      },
    );
  }
}
