/** Signals to present followers: typing and presence. They are never stored. */
import { decodeName } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import { encodeMember } from '../log/entry.js';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import { followIndex, followSignal } from '../scripts.gen.js';

/** Scripts of one `presence` at a time. */
const MAX_CONCURRENT = 100;

export class Signals {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async typing(chatId: string, member: string): Promise<void> {
    const name = encodeMember('member', member);
    const outcome = await this.#signal(chatId, name, 't', name);
    if (outcome < 0) throw UnknownIdError.chat(chatId);
    if (outcome === 0) throw NotAllowedError.notAMember(chatId, member);
  }

  async presence(member: string, status: string): Promise<void> {
    const { redis, keys } = this.#context;
    const { chats, mutes } = keys.member(member);
    const name = encodeMember('member', member);
    const text = `${name}\0${encodeMember('status', status)}`;
    const [, entries] = (await followIndex.run(redis, { chats, mutes }, {})) as [string, string[]];
    const chatIds = entries.filter((_, index) => index % 2 === 0).map(decodeName);
    for (let from = 0; from < chatIds.length; from += MAX_CONCURRENT) {
      const some = chatIds.slice(from, from + MAX_CONCURRENT);
      await Promise.all(some.map(async (chatId) => this.#signal(chatId, name, 'p', text)));
    }
  }

  async #signal(chatId: string, member: string, kind: 't' | 'p', text: string): Promise<number> {
    const { redis, keys, hub } = this.#context;
    const { chat, events } = keys.chat(chatId);
    const args = { member, publish: hub.publishCommand, kind, text };
    return (await followSignal.run(redis, { chat, events }, args)) as number;
  }
}
