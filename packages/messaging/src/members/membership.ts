import { CodedError, Coalescer, requireName, requireOneOf } from '@mortise/redis';
import { NotAllowedError, UnknownIdError, TooManyError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { encodeMember } from '../log/entry.js';
import { fractionOf, ROLES } from '../log/score.js';
import { resolveJoinOptions, resolveSetRoleOptions } from '../resolve-options.js';
import type { JoinOptions, Role, SetRoleOptions } from '../options.js';
import { chatJoin, chatLeave, chatRole } from '../scripts.gen.js';
import type { Outcome } from './index-guard.js';
import { enterIndexed } from './index-guard.js';
import type { MemberIndex } from './member-index.js';
import type { Mutes } from './mutes.js';

/** The result of `join`. */
export interface JoinResult {
  /** False if the member was in the chat: nothing was changed. */
  readonly isNew: boolean;
  /** The member's cursor: a new member begins after the newest message. */
  readonly ackedId: number;
}

interface Join {
  readonly member: string;
  readonly role: Role;
  readonly notAfter: number;
  readonly indexedAt: number;
}

interface Leave {
  /** The member as stored. */
  readonly name: string;
  /** The instant of the removed index entry, if a join under it may be under way. */
  readonly indexedAt: string;
}

const MAX_BATCH = 200;
const FULL = -1;
const TOO_LATE = -2;

/** Joins, leaves and roles. Joins and leaves of one chat in the same tick share a script call. */
export class Membership {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #mutes: Mutes;
  readonly #joins = new Coalescer<string, Join, Outcome<JoinResult>>(
    (chatId, joins) => this.#sendJoins(chatId, joins),
    { maxBatch: MAX_BATCH },
  );
  readonly #leaves = new Coalescer<string, Leave, boolean>(
    (chatId, leaves) => this.#sendLeaves(chatId, leaves),
    { maxBatch: MAX_BATCH },
  );

  constructor(context: ChatsContext, index: MemberIndex, mutes: Mutes) {
    this.#context = context;
    this.#index = index;
    this.#mutes = mutes;
  }

  async join(chatId: string, member: string, options: JoinOptions): Promise<JoinResult> {
    requireName('chatId', chatId);
    requireName('member', member);
    const role = requireOneOf('role', resolveJoinOptions(options), ROLES);
    return enterIndexed(
      (notBefore) => this.#mutes.enter(chatId, [member], notBefore),
      async (indexed, notAfter) => {
        const { joinedAt } = indexed[0]!;
        try {
          return await this.#joins.submit(chatId, { member, role, notAfter, indexedAt: joinedAt });
        } catch (error) {
          if (error instanceof CodedError) await this.#index.withdraw(chatId, [member], indexed);
          throw error;
        }
      },
    );
  }

  /** Returns whether the member was in the chat. */
  async leave(chatId: string, member: string): Promise<boolean> {
    requireName('chatId', chatId);
    const name = encodeMember('member', member);
    // The mute ends first: after a crash the member gets too many messages rather than too few.
    const entry = await this.#index.beginLeave(member, chatId);
    const indexedAt = entry?.isYoung ? entry.indexedAt : '';
    const hasLeft = await this.#leaves.submit(chatId, { name, indexedAt });
    if (entry) await this.#index.remove(member, chatId, entry.indexedAt);
    return hasLeft;
  }

  async setRole(chatId: string, member: string, role: Role, options: SetRoleOptions): Promise<void> {
    const { redis, keys } = this.#context;
    const by = resolveSetRoleOptions(options);
    const outcome = await chatRole.run(redis, keys.chat(chatId), {
      member: encodeMember('member', member),
      fraction: fractionOf(requireOneOf('role', role, ROLES)),
      by: by === undefined ? '' : encodeMember('by', by),
    });
    if (outcome === 0) throw UnknownIdError.chat(chatId);
    if (outcome === -1) throw NotAllowedError.notAMember(chatId, member);
    if (outcome === -2) throw NotAllowedError.notAMember(chatId, String(by));
    if (outcome === -3) throw NotAllowedError.action(chatId, String(by), 'change roles');
  }

  async #sendJoins(chatId: string, joins: readonly Join[]): Promise<(Outcome<JoinResult> | Error)[]> {
    const { redis, keys, limits, hub } = this.#context;
    const replies = (await chatJoin.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      maxMembers: limits.maxMembers,
      keepMs: limits.keepMs,
      joins: joins.flatMap(({ member, role, notAfter, indexedAt }) => [
        encodeMember('member', member),
        fractionOf(role),
        notAfter,
        indexedAt,
      ]),
    })) as number[] | null;
    if (replies === null) return joins.map(() => UnknownIdError.chat(chatId));
    const now = replies[0]!;
    return joins.map((_, index) => {
      const outcome = replies[2 * index + 1]!;
      const detail = replies[2 * index + 2]!;
      if (outcome === FULL) return TooManyError.members(chatId, detail + 1, limits.maxMembers);
      if (outcome === TOO_LATE) return { tooLateAt: now, leftAt: detail };
      return { result: { isNew: outcome === 1, ackedId: detail } };
    });
  }

  async #sendLeaves(chatId: string, leaves: readonly Leave[]): Promise<boolean[]> {
    const { redis, keys, limits, hub } = this.#context;
    const replies = (await chatLeave.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      keepAcked: limits.keepAcked,
      leavers: leaves.flatMap(({ name, indexedAt }) => [name, indexedAt]),
    })) as number[];
    return replies.map((removed) => removed === 1);
  }
}
