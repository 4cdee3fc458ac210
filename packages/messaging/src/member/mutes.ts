import { Coalescer, encodeName, requireInteger, requireName } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { NotAMemberError } from '../errors.js';
import type { Indexed, MemberIndex } from './member-index.js';
import type { MuteOptions } from '../options.js';
import { memberMute, memberUnmute } from '../scripts.gen.js';

interface Change {
  readonly chatId: string;
  /** In ms since 1970; 0: for ever, -1: not at all. */
  readonly untilMs: number;
}

const FOREVER = 0;
const NOT_MUTED = -1;
/** Changes in one script call. */
const MAX_BATCH = 100;

/**
 * Which chats a member doesn't want to hear of. A mute is the member's, and lies in their slot; it ends with their membership, which
 * is the chat's. So `leave` ends the mute first, and `mute` asks the chat before it writes, and behind that once more: it
 * may have found the member while they were leaving. A mute that was set between the two steps of a `leave` outlives it, and
 * says nothing as long as the member is away: it is ended before they are back, by whoever adds them.
 */
export class Mutes {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #changes: Coalescer<string, Change, void>;

  constructor(context: ChatsContext, index: MemberIndex) {
    this.#context = context;
    this.#index = index;
    this.#changes = new Coalescer((member, changes) => this.#changeBatch(member, changes), {
      maxBatch: MAX_BATCH,
    });
  }

  async mute(member: string, chatId: string, { untilMs }: MuteOptions): Promise<void> {
    const until = untilMs === undefined ? FOREVER : requireInteger('untilMs', untilMs, { min: 1 });
    await this.#requireMember(chatId, member);
    await this.#submit(member, chatId, until);
    try {
      await this.#requireMember(chatId, member);
    } catch (error) {
      if (error instanceof NotAMemberError) await this.unmute(member, chatId);
      throw error;
    }
  }

  async unmute(member: string, chatId: string): Promise<void> {
    return this.#submit(member, chatId, NOT_MUTED);
  }

  /**
   * Adds the chat to the indexes of members who are about to be added to it, see `MemberIndex.add`, and ends the mutes of those
   * among them whom it doesn't have: they are of an earlier time. One round trip; two more where there is a mute, which is rare.
   */
  async enter(chatId: string, members: readonly string[], notBefore: number): Promise<Indexed[]> {
    const indexed = await this.#index.add(chatId, members, notBefore);
    const muted = members.filter((_, place) => indexed[place]!.isMuted);
    await Promise.all(
      muted.map(async (member) => {
        if (!(await this.#isMember(chatId, member))) await this.unmute(member, chatId);
      }),
    );
    return indexed;
  }

  async #requireMember(chatId: string, member: string): Promise<void> {
    requireName('chatId', chatId);
    requireName('member', member);
    if (!(await this.#isMember(chatId, member))) throw new NotAMemberError(chatId, member);
  }

  async #isMember(chatId: string, member: string): Promise<boolean> {
    const { redis, keys } = this.#context;
    return (await redis.call('zscore', [keys.chat(chatId).chat, encodeName(member)])) !== null;
  }

  #submit(member: string, chatId: string, untilMs: number): Promise<void> {
    requireName('chatId', chatId);
    return this.#changes.submit(requireName('member', member), { chatId, untilMs });
  }

  async #changeBatch(member: string, changes: readonly Change[]): Promise<(void | Error)[]> {
    const { redis, keys, hub } = this.#context;
    const publish = hub.publishCommand;
    const run = changes.some(({ untilMs }) => untilMs !== NOT_MUTED)
      ? memberMute.run(redis, keys.member(member), {
          publish,
          changes: changes.flatMap(({ chatId, untilMs }) => [encodeName(chatId), String(untilMs)]),
        })
      : memberUnmute.run(redis, keys.member(member), {
          publish,
          chats: changes.map(({ chatId }) => encodeName(chatId)),
        });
    const replies = (await run) as number[];
    return replies.map((isDone, index) =>
      isDone === 1 ? undefined : new NotAMemberError(changes[index]!.chatId, member),
    );
  }
}
