import { decodeName, requireInteger } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { UnknownChatError } from '../errors.js';
import { ackedIdOf, roleOf } from '../log/standing.js';
import { CHAT_DEFAULTS } from '../options.js';
import type { MembersOptions, Role } from '../options.js';
import { chatMembers } from '../scripts.gen.js';

/** Somebody in a chat. */
export interface ChatMember {
  readonly member: string;
  /** They have acked everything up to this id. */
  readonly ackedId: number;
  readonly role: Role;
}

/** A page of members. */
export interface MembersPage {
  readonly members: ChatMember[];
  /** For the next page; null when this is the last one. */
  readonly cursor: string | null;
}

/** Up to so many members are paged by name, which takes a script up to 0.5 ms. */
const SMALL = 512;

/** Lists who is in a chat. */
export class Members {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async list(chatId: string, options: MembersOptions): Promise<MembersPage> {
    const { redis, keys } = this.#context;
    const limit = requireInteger('limit', options.limit ?? CHAT_DEFAULTS.limit, { min: 1, max: 1_000 });
    const reply = (await chatMembers.run(redis, keys.chat(chatId), {
      cursor: requireCursor(options.cursor ?? ''),
      limit,
      small: SMALL,
    })) as string[] | null;
    if (!reply) throw new UnknownChatError(chatId);
    const [cursor = '', ...pairs] = reply;
    const members: ChatMember[] = [];
    for (let index = 0; index < pairs.length; index += 2) {
      const score = pairs[index + 1]!;
      members.push({ member: decodeName(pairs[index]!), ackedId: ackedIdOf(score), role: roleOf(score) });
    }
    return { members, cursor: cursor === '' ? null : cursor };
  }
}

/** What ZSCAN wouldn't take fails here, and not with an error of the server. */
function requireCursor(cursor: unknown): string {
  if (typeof cursor !== 'string') throw new TypeError(`cursor must be a string, got ${typeof cursor}`);
  if (!/^$|^n|^s\d{1,19}$/.test(cursor)) {
    throw new RangeError(`cursor must be one of an earlier page, got ${JSON.stringify(cursor)}`);
  }
  return cursor;
}
