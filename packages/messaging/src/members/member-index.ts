import type { Read } from '@mortise/redis';
import {
  callRedis,
  Coalescer,
  decodeName,
  encodeName,
  readEach,
  readMany,
  requireName,
} from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import { TooManyError } from '../errors.js';
import { SlotRule } from '../log/slot-rule.js';
import { chatWithdraw, memberBeginLeave, memberForget, memberIndex } from '../scripts.gen.js';

/** An index entry: the member may be in the chat. */
export interface Indexed {
  /** The instant of the entry, ms; each refresh increases it. */
  readonly joinedAt: number;
  /** The clock of the member's server, ms. */
  readonly now: number;
  /** Whether the member has a mute of the chat. */
  readonly isMuted: boolean;
}

/** A chat of the member, confirmed by the chat's slot. */
export interface JoinedChat {
  readonly chatId: string;
  /** The score of the member in the chat, see `src/log/score.ts`. */
  readonly score: number;
  /** The requested parts of the head, positive. */
  readonly head: readonly number[];
  readonly isMuted: boolean;
}

/** The result of reading an index and its chats. */
export interface Findings {
  /** In the order in which the chats were joined. */
  readonly joined: JoinedChat[];
  /** All chats of the index, in that order, even without the member. */
  readonly chatIds: string[];
  /** Quiet chats with an empty log, whose heads were not read. */
  readonly quiet: readonly string[];
  /** Quiet chats that were asked together and have this number of logs with entries, so their heads were read. */
  readonly awake: readonly { readonly chatIds: readonly string[]; readonly logs: number }[];
  /** Entries for `forget`. */
  readonly useless: Useless;
}

/** Chats whose heads need not be read. */
export interface Known {
  /** Chats that have nothing new while their log is empty. */
  readonly quiet: readonly string[];
  /** Whether a chat is unreadable. */
  readonly isLeftOut: (chatId: string) => boolean;
  /** Called with the error of a read of one chat, which is then left out. It may throw the error. */
  readonly onError: (chatId: string, error: Error) => void;
}

/** A chat, encoded, to be added to the index. */
interface Addition {
  readonly chat: string;
  /** The lowest instant for its entry, ms. */
  readonly notBefore: number;
}

/** An entry of the index. */
interface IndexEntry {
  readonly chatId: string;
  readonly chat: string;
  readonly isMuted: boolean;
}

/** Useless entries, found by a reader. */
interface Useless {
  /** Chats, encoded, without the member. A join of the youngest may be under way. */
  readonly unjoined: readonly string[];
  /** Chats, encoded, and the instants at which their mutes ended, as stored. */
  readonly endedMutes: readonly (readonly [string, string])[];
  readonly now: number;
}

/** An index entry of a member who leaves the chat. */
export interface LeavingEntry {
  /** Its instant, as stored. */
  readonly indexedAt: string;
  /** Whether a join under it may still be under way. */
  readonly isYoung: boolean;
}

type Time = readonly [seconds: string, microseconds: string];

/** Readers remove older entries without a membership: a join is refused long before that. */
const MIN_AGE_MS = 60_000;
/** Chats in one script call. */
const MAX_BATCH = 100;
/** Logs in one EXISTS. More are cheaper while nothing is new, but more expensive once one of them has entries. */
const LOGS_PER_EXISTS = 10;
/** Maximum of entries for one call. */
const MAX_FORGOTTEN = 1_000;
/** More than any index has. */
const MAX_ENTRIES = 2 ** 40;
const NOTHING_KNOWN: Known = {
  quiet: [],
  isLeftOut: () => false,
  onError: (_, error) => {
    throw error;
  },
};

/**
 * The index of a member's chats: a superset of the chats that have the member. It is written first, so a crash between the two
 * steps loses no membership. Readers skip entries without a membership, and remove those that are older than a minute.
 */
export class MemberIndex {
  readonly #context: ChatsContext;
  readonly #slotRule: SlotRule;
  readonly #additions: Coalescer<string, Addition, Indexed>;
  /** Members whose indexes are being cleaned. */
  readonly #cleaned = new Set<string>();

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#slotRule = SlotRule.of(context.redis);
    this.#additions = new Coalescer((member, added) => this.#addBatch(member, added), {
      maxBatch: MAX_BATCH,
    });
  }

  /**
   * Adds the chat to the index of each member, or refreshes the entry; the results are in their order. One round trip for
   * all; more if an index is full, since it may have entries without a membership. Rejects with ERR_TOO_MANY_CHATS if a
   * member is in `maxChats`; then no member keeps an entry without a membership.
   *
   * @param members Names, not encoded.
   */
  async add(chatId: string, members: readonly string[], notBefore = 0): Promise<Indexed[]> {
    const chat = encodeName(requireName('chatId', chatId));
    for (const member of members) requireName('member', member);
    const outcomes = await Promise.allSettled(
      members.map((member) => this.#add(member, { chat, notBefore })),
    );
    const added = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    if (!refused) return added;
    const inIndex = members.filter((_, index) => outcomes[index]!.status === 'fulfilled');
    await this.withdraw(chatId, inIndex, added);
    throw refused.reason;
  }

  /**
   * The first step of `leave`: ends the member's mute of the chat, and returns the entry that the last step removes;
   * undefined without one. Followers of the member get no message: the chat is silent for them until the member has left.
   */
  async beginLeave(member: string, chatId: string): Promise<LeavingEntry | undefined> {
    const { redis, keys } = this.#context;
    const reply = (await memberBeginLeave.run(redis, keys.member(member), {
      chat: encodeName(chatId),
      youngMs: MIN_AGE_MS,
    })) as [string, number] | null;
    return reply ? { indexedAt: reply[0], isYoung: reply[1] === 1 } : undefined;
  }

  /** The last step of `leave`: removes the entry, unless it was refreshed in between. */
  async remove(member: string, chatId: string, indexedAt: string | number): Promise<void> {
    const { redis, keys } = this.#context;
    await memberForget.run(redis, keys.member(member), {
      minAgeMs: MIN_AGE_MS,
      seen: ['left', encodeName(chatId), String(indexedAt)],
    });
  }

  /**
   * Removes the entries that a refused join or create has added, except those of members of the chat. Two round trips.
   * Reports no failure: the caller gets the refusal, and a reader removes the entries when they are a minute old.
   */
  async withdraw(chatId: string, members: readonly string[], indexed: readonly Indexed[]): Promise<void> {
    const { redis, keys } = this.#context;
    try {
      for (let from = 0; from < members.length; from += MAX_FORGOTTEN) {
        const some = members.slice(from, from + MAX_FORGOTTEN);
        const replies = (await chatWithdraw.run(redis, keys.chat(chatId), {
          entries: some.flatMap((member, index) => [indexed[from + index]!.joinedAt, encodeName(member)]),
        })) as number[];
        await Promise.all(
          some.map(async (member, index) => {
            if (replies[index] === 1) await this.remove(member, chatId, indexed[from + index]!.joinedAt);
          }),
        );
      }
    } catch {
      // See the comment of this method.
    }
  }

  /**
   * The chats that a member is in, with their heads. Two round trips, the second one with a pipeline for each Cluster node;
   * one if all chats are quiet. O(chats).
   *
   * @param head The parts of the heads to read.
   * @param known Default: none, so all heads are read.
   */
  async find(
    member: string,
    head: readonly string[],
    includeMuted = true,
    { quiet, isLeftOut, onError }: Known = NOTHING_KNOWN,
  ): Promise<Findings> {
    const { indexed, mutedUntil, now, groups } = await this.#open(member, quiet);
    const empty = new Set(groups.flatMap(({ chatIds, logs }) => (logs === 0 ? chatIds : [])));
    const muted = new Set<string>();
    const endedMutes: [string, string][] = [];
    for (const [chat, until] of Object.entries(mutedUntil)) {
      if (until === '0' || Number(until) > now) muted.add(chat);
      else endedMutes.push([chat, until]);
    }
    const wanted = includeMuted || muted.size === 0 ? indexed : indexed.filter((chat) => !muted.has(chat));
    const chatIds = wanted.map(decodeName);
    const looked: IndexEntry[] = [];
    const stillQuiet: string[] = [];
    for (const [index, chat] of wanted.entries()) {
      const chatId = chatIds[index]!;
      if (empty.has(chatId)) stillQuiet.push(chatId);
      else if (!isLeftOut(chatId)) looked.push({ chat, chatId, isMuted: muted.has(chat) });
    }
    const { redis, keys } = this.#context;
    const name = encodeName(member);
    const replies = await readEach(
      redis,
      looked.map(({ chatId }): Read => ['zmscore', keys.chat(chatId).chat, ...head, name]),
    );
    const joined: JoinedChat[] = [];
    const unjoined: string[] = [];
    for (const [index, { chat, chatId, isMuted }] of looked.entries()) {
      const reply = replies[index] as (string | null)[] | Error;
      if (reply instanceof Error) onError(chatId, reply);
      else if (reply[head.length] == null) unjoined.push(chat);
      else {
        // `0 - part`, since `-part` turns 0 into -0.
        const parts = reply.map((part) => 0 - Number(part));
        joined.push({ chatId, score: Number(reply[head.length]), head: parts, isMuted });
      }
    }
    const awake = groups.filter(({ logs }) => logs > 0);
    return { joined, chatIds, quiet: stillQuiet, awake, useless: { unjoined, endedMutes, now } };
  }

  /** Reads the index, and how many logs of quiet chats have entries. One round trip. */
  async #open(
    member: string,
    quiet: readonly string[],
  ): Promise<{
    indexed: string[];
    mutedUntil: Record<string, string>;
    now: number;
    groups: { chatIds: string[]; logs: number }[];
  }> {
    const { redis, keys } = this.#context;
    const { chats, mutes } = keys.member(member);
    const size = this.#slotRule.isEnforced ? 1 : LOGS_PER_EXISTS;
    const groups: string[][] = [];
    for (let from = 0; from < quiet.length; from += size) groups.push(quiet.slice(from, from + size));
    try {
      const [indexed, mutedUntil, time, ...counts] = (await readMany(redis, [
        ['zrange', chats, 0, -1],
        ['hgetall', mutes],
        ['time'],
        ...groups.map((group): Read => ['exists', ...group.map((chatId) => keys.chat(chatId).log)]),
      ])) as [string[], Record<string, string>, Time, ...number[]];
      return {
        indexed,
        mutedUntil,
        now: toMs(time),
        groups: groups.map((chatIds, index) => ({ chatIds, logs: counts[index]! })),
      };
    } catch (error) {
      if (size === 1 || !this.#slotRule.learn(error)) throw error;
      return this.#open(member, quiet);
    }
  }

  /** Chats without the member that a join may be about to enter. No round trip or one. */
  async candidates(member: string, { unjoined, now }: Useless): Promise<string[]> {
    if (unjoined.length === 0) return [];
    const looked = unjoined.slice(-MAX_FORGOTTEN);
    const { redis, keys } = this.#context;
    const instants = (await callRedis(redis, 'zmscore', [keys.member(member).chats, ...looked])) as (
      | string
      | null
    )[];
    return looked.filter((_, index) => Number(instants[index] ?? 0) > now - MIN_AGE_MS).map(decodeName);
  }

  /** Calls `forget` in the background. A failure is ignored: the next reader finds the same entries. */
  clean(member: string, useless: Useless): void {
    if (this.#cleaned.has(member) || useless.unjoined.length + useless.endedMutes.length === 0) return;
    this.#cleaned.add(member);
    void this.forget(member, useless)
      .catch(() => undefined)
      .finally(() => this.#cleaned.delete(member));
  }

  /**
   * Removes useless entries that are old enough; returns the number of removed index entries. No round trip, one or three.
   * It reads the instant of an entry first, then the chat again: a join in between gives the entry another instant, and the
   * entry stays.
   */
  async forget(member: string, { unjoined, endedMutes, now }: Useless): Promise<number> {
    const { redis, keys } = this.#context;
    const memberKeys = keys.member(member);
    const seen = endedMutes.flatMap(([chat, until]) => ['mute', chat, until]);
    if (unjoined.length > 0) {
      const looked = unjoined.slice(0, MAX_FORGOTTEN);
      const instants = (await callRedis(redis, 'zmscore', [memberKeys.chats, ...looked])) as (
        | string
        | null
      )[];
      const entries = looked.map((chat, index) => ({ chat, joinedAt: instants[index] ?? 'gone' }));
      const old = entries.filter(({ joinedAt }) => Number(joinedAt) <= now - MIN_AGE_MS);
      const name = encodeName(member);
      const scores = await readMany(
        redis,
        old.map(({ chat }): Read => ['zscore', keys.chat(decodeName(chat)).chat, name]),
      );
      for (const [index, { chat, joinedAt }] of old.entries()) {
        if (scores[index] === null) seen.push('chat', chat, joinedAt);
      }
    }
    if (seen.length === 0) return 0;
    return (await memberForget.run(redis, memberKeys, { minAgeMs: MIN_AGE_MS, seen })) as number;
  }

  async #add(member: string, addition: Addition): Promise<Indexed> {
    const { chat } = addition;
    try {
      return await this.#additions.submit(member, addition);
    } catch (error) {
      if (!(error instanceof TooManyError)) throw error;
      let found = await this.find(member, []);
      if ((await this.forget(member, found.useless)) > 0) found = await this.find(member, []);
      const { unjoined } = found.useless;
      const chatId = decodeName(chat);
      // Up to maxChats entries without a membership do not count.
      let spare = Math.min(unjoined.length, this.#context.limits.maxChats);
      if (found.joined.some((joined) => joined.chatId === chatId)) spare = Infinity;
      else if (unjoined.includes(chat)) spare = unjoined.length - 1;
      const [added] = await this.#addBatch(member, [addition], spare);
      if (added instanceof Error) throw added;
      return added!;
    }
  }

  /** @param spare Number of entries that do not count. */
  async #addBatch(member: string, added: readonly Addition[], spare = 0): Promise<(Indexed | Error)[]> {
    const { redis, keys, limits, hub } = this.#context;
    const { maxChats } = limits;
    const reply = await memberIndex.run(redis, keys.member(member), {
      publish: hub.publishCommand,
      maxChats: Math.min(maxChats + spare, MAX_ENTRIES),
      added: added.flatMap(({ chat, notBefore }) => [chat, notBefore]),
    });
    const [now = 0, ...found] = reply as number[];
    return added.map((_, index) => {
      const joinedAt = found[index]!;
      const isMuted = found[added.length + index] === 1;
      return joinedAt < 0 ? TooManyError.chats(member, maxChats) : { joinedAt, now, isMuted };
    });
  }
}

function toMs([seconds, microseconds]: Time): number {
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
