import { decodeName } from '@mortise/redis';
import { UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { ackedIdOf, roleOf } from '../log/score.js';
import { resolveMembersOptions } from '../resolve-options.js';
import type { MembersOptions, Role } from '../options.js';
import { chatMembers } from '../scripts.gen.js';

/** A member of a chat. */
export interface ChatMember {
  readonly member: string;
  /** The member has acked all messages up to this id. */
  readonly ackedId: number;
  readonly role: Role;
}

/** A page of members. */
export interface MembersPage {
  readonly members: ChatMember[];
  /** The cursor for the next page; null after the last page. */
  readonly cursor: string | null;
}

/** Up to this number, members are paged by name, which takes the script up to 0.5 ms. */
const MAX_SORTED = 512;

/** Lists the members of a chat. */
export class Members {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async list(chatId: string, options: MembersOptions): Promise<MembersPage> {
    const { redis, keys } = this.#context;
    const { cursor, limit } = resolveMembersOptions(options);
    const reply = (await chatMembers.run(redis, keys.chat(chatId), {
      cursor,
      limit,
      maxSorted: MAX_SORTED,
    })) as string[] | null;
    if (!reply) throw UnknownIdError.chat(chatId);
    const [next = '', ...pairs] = reply;
    const members: ChatMember[] = [];
    for (let index = 0; index < pairs.length; index += 2) {
      const score = pairs[index + 1]!;
      members.push({ member: decodeName(pairs[index]!), ackedId: ackedIdOf(score), role: roleOf(score) });
    }
    return { members, cursor: next === '' ? null : next };
  }
}
