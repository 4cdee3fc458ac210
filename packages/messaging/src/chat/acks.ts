import { Coalescer, requireInteger, requireName } from '@mortise/redis';
import { NotAMemberError, UnknownChatError, UnknownMessageError } from '../errors.js';
import { encodeMember } from '../log/entry.js';
import type { AckOptions } from '../options.js';
import { SlotRule } from '../log/slot-rule.js';
import { chatAck } from '../scripts.gen.js';
import { ACKS } from '../telemetry/metrics.js';
import type { ChatsContext } from './chats-context.js';

interface Ack {
  readonly chatId: string;
  /** Of the chat that is meant; undefined: whichever has the name now. */
  readonly epoch: number | undefined;
  readonly member: string;
  readonly upToId: number;
}

/** Hears of each cursor as it is after an ack. */
type OnAcked = (chatId: string, member: string, ackedId: number) => void;

/** In one script call. */
const MAX_BATCH = 200;
/** All chats, where slots don't count. */
const ANY_CHAT = '';
/** What one key is enough for: it has another type, or this user may not touch it. */
const OF_ONE_KEY = /^(?:WRONGTYPE|NOPERM|ERR)\b/;

/**
 * Moves the cursors of members forward, and frees what all have passed: acks of one tick and chat in one script call, on a
 * server without slots those of all chats.
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
  async ack(member: string, chatId: string, upToId: number, { epoch }: AckOptions): Promise<number> {
    requireName('member', member);
    requireName('chatId', chatId);
    requireInteger('upToId', upToId, { min: 0 });
    if (epoch !== undefined) requireInteger('epoch', epoch, { min: 1 });
    const group = this.#slotRule.isEnforced ? chatId : ANY_CHAT;
    const ackedId = await this.#acks.submit(group, { chatId, epoch, member, upToId });
    this.#context.tally?.count(ACKS, 1);
    this.#onAcked(chatId, member, ackedId);
    return ackedId;
  }

  async #send(acks: readonly Ack[]): Promise<(number | Error)[]> {
    // By chat and epoch; the acks of each in their order.
    const parts = new Map<string, Ack[]>();
    for (const ack of acks) {
      const which = `${ack.epoch ?? ''}:${ack.chatId}`;
      const part = parts.get(which);
      if (part) part.push(ack);
      else parts.set(which, [ack]);
    }
    const groups = [...parts.values()];
    const results = new Map<Ack, number | Error>();
    try {
      await this.#sendTogether(groups, results);
    } catch (error) {
      const isEachChats = this.#slotRule.learn(error) || OF_ONE_KEY.test((error as Error).message);
      if (!isEachChats || groups.length === 1) throw error;
      // Acks are safe to repeat, so only those fail that have to.
      await Promise.all(
        groups.map(async (group) => {
          try {
            await this.#sendTogether([group], results);
          } catch (reason) {
            for (const ack of group) results.set(ack, reason as Error);
          }
        }),
      );
    }
    return acks.map((ack) => results.get(ack)!);
  }

  async #sendTogether(groups: readonly (readonly Ack[])[], results: Map<Ack, number | Error>): Promise<void> {
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

/** Each argument costs the server 0.2 µs, and the client more: who acks in all chats is named once. */
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
      const of = epoch === undefined ? '' : -epoch;
      return isOnly ? [of, upToId] : [encodeMember('member', member), of, upToId];
    }),
  };
}

function outcomeOf(
  { chatId, epoch, member, upToId }: Ack,
  lastId: number | null,
  cursor: number | null,
): number | Error {
  if (lastId === null) return new UnknownChatError(chatId);
  if (cursor === null) return new NotAMemberError(chatId, member);
  return cursor < 0 ? new UnknownMessageError(chatId, upToId, lastId, 'chat', epoch) : cursor;
}
