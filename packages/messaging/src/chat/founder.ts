import { requireName } from '@mortise/redis';
import { v7 as uuid } from 'uuid';
import { TooManyMembersError } from '../errors.js';
import { encodeBody, encodeMember } from '../log/entry.js';
import { encodeSenderId } from '../log/sender-id.js';
import type { MemberIndex } from '../member/member-index.js';
import type { Mutes } from '../member/mutes.js';
import type { CreateOptions } from '../options.js';
import { chatCreate } from '../scripts.gen.js';
import { POSTED } from '../telemetry/metrics.js';
import type { ChatsContext } from './chats-context.js';
import { enterIndexed } from './index-guard.js';

/** What became of a `create`. */
export interface CreateResult {
  readonly chatId: string;
  /** False when the chat was there: nothing was changed. */
  readonly isNew: boolean;
  /** The id of the first message: of this call, or of an earlier one with the same `id`. Absent when there is none. */
  readonly id?: number;
}

const CREATED = 1;
const TOO_LATE = -1;

/** Creates chats. */
export class Founder {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #mutes: Mutes;

  constructor(context: ChatsContext, index: MemberIndex, mutes: Mutes) {
    this.#context = context;
    this.#index = index;
    this.#mutes = mutes;
  }

  async create({ sender, members, body, id, chatId: givenId }: CreateOptions): Promise<CreateResult> {
    const { redis, keys, limits, hub, tally } = this.#context;
    const chatId = requireName('chatId', givenId ?? uuid());
    const author = encodeMember('sender', sender);
    if (!Array.isArray(members)) throw new TypeError('members must be an array of names');
    const names = [...new Set([sender, ...(members as string[])])];
    const [, ...others] = names.map((name) => encodeMember('member', name));
    if (names.length > limits.maxMembers) {
      throw new TooManyMembersError(chatId, names.length, limits.maxMembers);
    }
    const json = body === undefined ? '' : encodeBody(chatId, body, limits.maxBodyBytes);
    const field = body === undefined ? '' : encodeSenderId(author, id);
    // What only this call can have made is new, also where ioredis sent it twice since the first reply was lost.
    const isOwnMessage = body !== undefined && id === undefined;
    return enterIndexed(
      (notBefore) => this.#mutes.enter(chatId, names, notBefore),
      async (indexed, notAfter) => {
        const instants = indexed.map(({ joinedAt }) => joinedAt);
        const [outcome, firstId, now] = (await chatCreate.run(redis, keys.chat(chatId), {
          publish: hub.publishCommand,
          retentionMs: limits.retentionMs,
          dedupMs: limits.dedupMs,
          keepAcked: limits.keepAcked,
          notAfter,
          notBefore: instants.reduce((highest, instant) => Math.max(highest, instant)),
          indexedFrom: instants.reduce((lowest, instant) => Math.min(lowest, instant)),
          field,
          body: json,
          sender: author,
          others,
        })) as [number, number, number];
        if (outcome === TOO_LATE) return { tooLateAt: now, leftAt: firstId };
        if (outcome === CREATED && firstId > 0) tally?.count(POSTED, 1);
        if (outcome !== CREATED) await this.#index.withdraw(chatId, names, indexed);
        const isNew = outcome === CREATED || givenId === undefined || (isOwnMessage && firstId > 0);
        return { result: { chatId, isNew, ...(firstId > 0 && { id: firstId }) } };
      },
    );
  }
}
