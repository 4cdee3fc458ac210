/**
 * What is new in all chats of a member: the index, then the head of each chat, then the entries of those that have some. With the
 * index are asked the logs of chats in which there was nothing new, so who has nothing new at all is told so in one round trip.
 */
import { requireName } from '@mortise/redis';
import type { Acks } from '../chat/acks.js';
import type { ChatsContext } from '../chat/chats-context.js';
import { NotAMemberError, ReadTimeoutError, UnknownChatError, UnknownMessageError } from '../errors.js';
import { asWaiter, inTime, LATE } from '../in-time.js';
import { ackedIdOf } from '../log/standing.js';
import type { PullOptions } from '../options.js';
import { resolvePullOptions } from '../options.js';
import { GAPS, PULLED } from '../telemetry/metrics.js';
import type { MemberIndex, Standing } from './member-index.js';
import { News } from './news.js';
import type { Pulled } from './pulled.js';
import { QuietChats } from './quiet-chats.js';
import { UNREAD_HEAD, UnreadReader } from './unread-reader.js';
import { UnreadableChats } from './unreadable-chats.js';

interface Wanted {
  readonly limit: number;
  readonly maxBytes: number;
  readonly includeMuted: boolean;
  readonly isWaiting: boolean;
}

interface Look<Body> {
  /** All that were looked into. */
  readonly chatIds: readonly string[];
  /** Where something may come, also chats that are about to get the member. */
  readonly heard: readonly string[];
  readonly pulled: Pulled<Body>[];
}

/** A push may be lost with its connection; a waiting pull looks again after so long. */
const RECHECK_MS = 5_000;
/** What is asked at the end of a wait may take so long to be answered. */
const LAST_ANSWER_MS = 1_000;

/** Reads what is new in all chats of a member. */
export class Puller<Body> {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #acks: Acks;
  readonly #reader: UnreadReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;

  constructor(context: ChatsContext, index: MemberIndex, acks: Acks) {
    this.#context = context;
    this.#index = index;
    this.#acks = acks;
    this.#quiet = new QuietChats(context.limits.retentionMs);
    this.#reader = new UnreadReader(context, this.#quiet);
    this.#unreadable = UnreadableChats.of(context);
  }

  async pull(member: string, options: PullOptions): Promise<Pulled<Body>[]> {
    requireName('member', member);
    const { waitMs, autoAck, ...wanted } = resolvePullOptions(options);
    const { signal } = options;
    const { redis, keys, hub } = this.#context;
    signal?.throwIfAborted();
    const deadlineAt = performance.now() + waitMs;
    const lastAt = waitMs === 0 ? Infinity : deadlineAt + LAST_ANSWER_MS;
    const look = async (): Promise<Look<Body>> => {
      const looking = this.#look(member, { ...wanted, isWaiting: waitMs > 0 });
      const seen = await inTime(waitMs === 0 ? looking : asWaiter(redis, looking), lastAt, signal);
      if (seen === LATE) throw new ReadTimeoutError(member, waitMs);
      return seen;
    };
    let seen = await look();
    if (seen.pulled.length === 0 && waitMs > 0) {
      const news = new News(hub);
      try {
        for (;;) {
          // What comes while the channels are being subscribed is found by the look behind that.
          const channels = seen.heard.map((chatId) => keys.chat(chatId).events);
          await inTime(news.listen([keys.member(member).events, ...channels]), deadlineAt, signal);
          const known = new Set(seen.heard);
          seen = await look();
          const now = performance.now();
          if (seen.pulled.length > 0 || now >= deadlineAt) break;
          if (seen.heard.some((chatId) => !known.has(chatId))) continue;
          await news.next(Math.min(deadlineAt, now + RECHECK_MS), signal);
        }
      } finally {
        news.close();
      }
    }
    const { chatIds, pulled } = seen;
    this.#count(pulled);
    if (autoAck) {
      const acked = Promise.all(pulled.map((chat) => this.#ack(member, chat)));
      // What was read is returned in any case: it may be acked, and then it never comes again.
      await inTime(acked, lastAt, signal).catch((error: unknown) => {
        if (!signal?.aborted) throw error;
      });
    }
    this.#unreadable.report(chatIds, options);
    return pulled;
  }

  #count(pulled: readonly Pulled<Body>[]): void {
    const { tally } = this.#context;
    if (!tally) return;
    for (const { messages, gap } of pulled) {
      tally.count(PULLED, messages.length);
      if (gap) tally.count(GAPS, 1);
    }
  }

  async #look(member: string, { includeMuted, isWaiting, ...bounds }: Wanted): Promise<Look<Body>> {
    const lookedAt = performance.now();
    const known = this.#quiet.of(member, lookedAt);
    const found = await this.#unreadable.find(this.#index, member, UNREAD_HEAD, includeMuted, known);
    const { chatIds, standings, quiet, useless } = found;
    if (quiet.length < known.length) {
      const isStill = new Set(quiet);
      for (const chatId of known) if (!isStill.has(chatId)) this.#quiet.delete(member, chatId);
    }
    const fresh: Standing[] = [];
    for (const standing of standings) {
      const {
        chatId,
        score,
        head: [lastId = 0],
        isEmpty,
      } = standing;
      if (lastId > ackedIdOf(score)) fresh.push(standing);
      else this.#quiet.add(member, chatId, lookedAt, isEmpty);
    }
    const unread = { member, fresh, lookedAt };
    const reading = this.#reader.read(unread, bounds);
    this.#index.clean(member, useless);
    const news = await reading;
    const candidates = isWaiting && news.length === 0 ? await this.#index.candidates(member, useless) : [];
    this.#quiet.keep(member, chatIds);
    const entered = [...standings.map(({ chatId }) => chatId), ...quiet];
    return { chatIds, heard: [...entered, ...candidates], pulled: inOrder(chatIds, news) };
  }

  async #ack(member: string, { chatId, epoch, messages, gap }: Pulled<Body>): Promise<void> {
    const upToId = messages.at(-1)?.id ?? gap!.toId;
    try {
      await this.#unreadable.attempt(chatId, () => this.#acks.ack(member, chatId, upToId, { epoch }));
    } catch (error) {
      // Whoever left in between, or was put into a chat of the same name, has nothing to ack.
      const isGone = [NotAMemberError, UnknownChatError, UnknownMessageError].some(
        (kind) => error instanceof kind,
      );
      if (!isGone) throw error;
    }
  }
}

/** In the order of the chats. */
function inOrder<Body>(chatIds: readonly string[], pulled: Pulled<Body>[]): Pulled<Body>[] {
  if (pulled.length < 2) return pulled;
  const places = new Map(chatIds.map((chatId, place) => [chatId, place]));
  return pulled.toSorted((a, b) => places.get(a.chatId)! - places.get(b.chatId)!);
}
