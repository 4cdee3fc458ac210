import { Coalescer, requireInteger, requireName } from '@mortise/redis';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { encodeMember } from '../log/entry.js';
import { SlotRule } from '../log/slot-rule.js';
import type { AckOptions } from '../options.js';
import { resolveAckOptions } from '../resolve-options.js';
import { chatAck } from '../scripts.gen.js';
import { ACKS } from '../telemetry/metrics.js';

interface Ack {
  readonly chatId: string;
  /** Undefined: any. */
  readonly epoch: number | undefined;
  readonly member: string;
  readonly upToId: number;
}

/** Called with each cursor after an ack. */
type OnAcked = (chatId: string, member: string, ackedId: number) => void;

/** Acks in one script call. */
const MAX_BATCH = 200;
/** The group of all chats on a server without slots. */
const ALL_CHATS = '';
/** Errors caused by one key: wrong type, or no permission. */
const OF_ONE_KEY = /^(?:WRONGTYPE|NOPERM|ERR)\b/;

/**
 * Moves the cursors of members forward, and frees the entries that all members have acked. Acks of one chat in the same tick
 * are one script call; on a server without slots, those of all chats.
 */
export class Acks {
  readonly #context: ChatsContext;
  readonly #onAcked: OnAcked;
  readonly #slotRule: SlotRule;
  readonly #acks = new Coalescer<string, Ack, number>((_, acks) => this.#send(acks), {
    maxBatch: MAX_BATCH,
  });

  constructor(context: ChatsContext, onAcked: OnAcked) {
    this.#context = context;
    this.#onAcked = onAcked;
    this.#slotRule = SlotRule.of(context.redis);
  }

  /** Returns the member's cursor. */
  async ack(chatId: string, member: string, upToId: number, options: AckOptions): Promise<number> {
    requireName('chatId', chatId);
    requireName('member', member);
    requireInteger('upToId', upToId, { min: 0 });
    const epoch = resolveAckOptions(options);
    const group = this.#slotRule.isEnforced ? chatId : ALL_CHATS;
    const ackedId = await this.#acks.submit(group, { chatId, epoch, member, upToId });
    this.#context.telemetry?.count(ACKS, 1);
    this.#onAcked(chatId, member, ackedId);
    return ackedId;
  }

  async #send(acks: readonly Ack[]): Promise<(number | Error)[]> {
    const byChat = new Map<string, Ack[]>();
    for (const ack of acks) {
      const key = `${ack.epoch ?? ''}:${ack.chatId}`;
      const group = byChat.get(key);
      if (group) group.push(ack);
      else byChat.set(key, [ack]);
    }
    const groups = [...byChat.values()];
    const results = new Map<Ack, number | Error>();
    try {
      await this.#sendGroups(groups, results);
    } catch (error) {
      const isOfOneChat = this.#slotRule.learn(error) || OF_ONE_KEY.test((error as Error).message);
      if (!isOfOneChat || groups.length === 1) throw error;
      // Acks are safe to repeat, so each chat gets its own call, and only the damaged ones fail.
      await Promise.all(
        groups.map(async (group) => {
          try {
            await this.#sendGroups([group], results);
          } catch (reason) {
            for (const ack of group) results.set(ack, reason as Error);
          }
        }),
      );
    }
    return acks.map((ack) => results.get(ack)!);
  }

  async #sendGroups(groups: readonly (readonly Ack[])[], results: Map<Ack, number | Error>): Promise<void> {
    const { redis, keys, limits } = this.#context;
    const chats = groups.flatMap(([ack]) => {
      const { chat, log, uncounted } = keys.chat(ack!.chatId);
      return [chat, log, uncounted];
    });
    const replies = (await chatAck.run(
      redis,
      { chats },
      { keepAcked: limits.keepAcked, ...operandsOf(groups) },
    )) as (number | null)[];
    let next = 0;
    for (const group of groups) {
      const lastId = replies[next++] ?? null;
      for (const ack of group) results.set(ack, outcomeOf(ack, lastId, replies[next++] ?? null));
    }
  }
}

/** Each argument costs the server 0.2 µs, and the client more, so a member who acks in all chats is sent once. */
function operandsOf(groups: readonly (readonly Ack[])[]): {
  counts: Buffer | string;
  only: string;
  acks: (string | number)[];
} {
  const all = groups.flat();
  const [first] = all;
  const isOnly = all.every(({ member }) => member === first!.member);
  const isOneEach = all.length === groups.length;
  return {
    counts: isOneEach ? '' : Buffer.from(groups.map(({ length }) => length)),
    only: isOnly ? encodeMember('member', first!.member) : '',
    acks: all.flatMap(({ epoch, member, upToId }) => {
      const stored = epoch === undefined ? '' : -epoch;
      return isOnly ? [stored, upToId] : [encodeMember('member', member), stored, upToId];
    }),
  };
}

function outcomeOf(
  { chatId, epoch, member, upToId }: Ack,
  lastId: number | null,
  cursor: number | null,
): number | Error {
  if (lastId === null) return UnknownIdError.chat(chatId);
  if (cursor === null) return NotAllowedError.notAMember(chatId, member);
  return cursor < 0 ? UnknownIdError.message('chat', chatId, { id: upToId, lastId, epoch }) : cursor;
}
