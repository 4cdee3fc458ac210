import { callRedis, Coalescer, encodeName, requireName } from '@mortise/redis';
import { NotAllowedError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import type { MuteOptions } from '../options.js';
import { resolveMuteOptions } from '../resolve-options.js';
import { memberMute, memberUnmute } from '../scripts.gen.js';
import type { Indexed, MemberIndex } from './member-index.js';

interface Change {
  readonly chatId: string;
  /** In ms since 1970; 0: forever, -1: not muted. */
  readonly untilMs: number;
}

const FOREVER = 0;
const NOT_MUTED = -1;
/** Changes in one script call. */
const MAX_BATCH = 100;

/**
 * The chats that a member has muted. Mutes lie in the member's slot, and end with the membership, which lies in the chat's
 * slot.
 *
 * So `leave` ends the mute first. `mute` checks the membership before it writes and again afterwards, since the member may
 * be leaving. A mute that is set between the steps of a `leave` has no effect while the member is away. The call that adds
 * them again ends it.
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

  async mute(chatId: string, member: string, options: MuteOptions): Promise<void> {
    const untilMs = resolveMuteOptions(options) ?? FOREVER;
    await this.#requireMember(chatId, member);
    await this.#submit(chatId, member, untilMs);
    try {
      await this.#requireMember(chatId, member);
    } catch (error) {
      if (error instanceof NotAllowedError) await this.unmute(chatId, member);
      throw error;
    }
  }

  async unmute(chatId: string, member: string): Promise<void> {
    return this.#submit(chatId, member, NOT_MUTED);
  }

  /**
   * Adds the chat to the indexes of members who are about to join, see `MemberIndex.add`, and ends mutes of an earlier
   * membership. One round trip; two more to end a mute, which is rare.
   */
  async enter(chatId: string, members: readonly string[], notBefore: number): Promise<Indexed[]> {
    const indexed = await this.#index.add(chatId, members, notBefore);
    const muted = members.filter((_, place) => indexed[place]!.isMuted);
    await Promise.all(
      muted.map(async (member) => {
        if (!(await this.#isMember(chatId, member))) await this.unmute(chatId, member);
      }),
    );
    return indexed;
  }

  async #requireMember(chatId: string, member: string): Promise<void> {
    requireName('chatId', chatId);
    requireName('member', member);
    if (!(await this.#isMember(chatId, member))) throw NotAllowedError.notAMember(chatId, member);
  }

  async #isMember(chatId: string, member: string): Promise<boolean> {
    const { redis, keys } = this.#context;
    return (await callRedis(redis, 'zscore', [keys.chat(chatId).chat, encodeName(member)])) !== null;
  }

  #submit(chatId: string, member: string, untilMs: number): Promise<void> {
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
      isDone === 1 ? undefined : NotAllowedError.notAMember(changes[index]!.chatId, member),
    );
  }
}
