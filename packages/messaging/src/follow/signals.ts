/** What is told to those who follow now, and never stored. */
import { decodeName, encodeName, requireName } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { NotAMemberError, UnknownChatError } from '../errors.js';
import { followIndex, followTell } from '../scripts.gen.js';

/** Scripts that are under way at a time for one `presence`. */
const MAX_UNDER_WAY = 100;

export class Signals {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async typing(chatId: string, member: string): Promise<void> {
    const who = encodeName(requireName('member', member));
    const told = await this.#tell(chatId, who, 't', who);
    if (told < 0) throw new UnknownChatError(chatId);
    if (told === 0) throw new NotAMemberError(chatId, member);
  }

  async presence(member: string, status: string): Promise<void> {
    const { redis, keys } = this.#context;
    const { chats, mutes } = keys.member(member);
    const who = encodeName(member);
    const text = `${who}\0${encodeName(requireName('status', status))}`;
    const [, entries] = (await followIndex.run(redis, { chats, mutes }, {})) as [string, string[]];
    const chatIds = entries.filter((_, index) => index % 2 === 0).map(decodeName);
    for (let from = 0; from < chatIds.length; from += MAX_UNDER_WAY) {
      const some = chatIds.slice(from, from + MAX_UNDER_WAY);
      await Promise.all(some.map(async (chatId) => this.#tell(chatId, who, 'p', text)));
    }
  }

  async #tell(chatId: string, member: string, kind: 't' | 'p', text: string): Promise<number> {
    const { redis, keys, hub } = this.#context;
    const { chat, events } = keys.chat(chatId);
    const args = { member, publish: hub.publishCommand, kind, text };
    return (await followTell.run(redis, { chat, events }, args)) as number;
  }
}
