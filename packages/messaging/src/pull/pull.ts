/**
 * Pulls the unread messages of all chats of a member in three steps: the index, the head of each chat, the entries of chats
 * with new ones. The first step also asks whether the logs of quiet chats are empty, so a member with nothing new needs one
 * round trip.
 */
import { requireName, TIMED_OUT, waitFor } from '@mortise/redis';
import { NotAllowedError, NotFoundError, ReadTimeoutError } from '../errors.js';
import type { ChatsContext } from '../log/chats-context.js';
import { orClosed } from '../log/closed-client.js';
import { ackedIdOf } from '../log/score.js';
import type { JoinedChat, MemberIndex } from '../members/member-index.js';
import type { PullOptions } from '../options.js';
import { resolvePullOptions } from '../resolve-options.js';
import { GAPS, PULLED } from '../telemetry/metrics.js';
import type { Acks } from './acks.js';
import type { Pulled } from './pulled.js';
import { QuietChats } from './quiet-chats.js';
import { UNREAD_HEAD, UnreadReader } from './unread-reader.js';
import { UnreadableChats } from './unreadable-chats.js';
import { Updates } from './updates.js';

interface Bounds {
  readonly limit: number;
  readonly maxBytes: number;
  readonly includeMuted: boolean;
  readonly isWaiting: boolean;
}

interface Look<Body> {
  /** All chats of the index. */
  readonly chatIds: readonly string[];
  /** Chats that may get a message, including chats that the member is about to join. */
  readonly watched: readonly string[];
  readonly pulled: Pulled<Body>[];
}

/** A push may be lost with its connection; a waiting pull looks again after this time. */
const RECHECK_MS = 5_000;
/** Time limit of the last read of a wait. */
const LAST_ANSWER_MS = 1_000;

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
    this.#quiet = new QuietChats(context.limits.keepMs);
    this.#reader = new UnreadReader(context, this.#quiet);
    this.#unreadable = UnreadableChats.of(context);
  }

  async pull(member: string, options: PullOptions): Promise<Pulled<Body>[]> {
    requireName('member', member);
    const { waitMs, signal, autoAck, ...wanted } = resolvePullOptions(options);
    const { redis, keys, hub } = this.#context;
    signal?.throwIfAborted();
    const deadlineAt = performance.now() + waitMs;
    const lastAt = waitMs === 0 ? Infinity : deadlineAt + LAST_ANSWER_MS;
    const look = async (): Promise<Look<Body>> => {
      const looking = this.#look(member, { ...wanted, isWaiting: waitMs > 0 });
      const seen = await waitFor(waitMs === 0 ? looking : orClosed(redis, looking), {
        waitMs: lastAt - performance.now(),
        signal,
      });
      if (seen === TIMED_OUT) throw new ReadTimeoutError(member, waitMs);
      return seen;
    };
    let seen = await look();
    if (seen.pulled.length === 0 && waitMs > 0) {
      const updates = new Updates(hub);
      try {
        for (;;) {
          // The read after the subscription finds messages that came before it.
          const channels = seen.watched.map((chatId) => keys.chat(chatId).events);
          const listening = updates.listen([keys.member(member).events, ...channels]);
          await waitFor(listening, { waitMs: deadlineAt - performance.now(), signal });
          const known = new Set(seen.watched);
          seen = await look();
          const now = performance.now();
          if (seen.pulled.length > 0 || now >= deadlineAt) break;
          if (seen.watched.some((chatId) => !known.has(chatId))) continue;
          await updates.next(Math.min(deadlineAt, now + RECHECK_MS), signal);
        }
      } finally {
        updates.close();
      }
    }
    const { chatIds, pulled } = seen;
    this.#count(pulled);
    if (autoAck) {
      // The messages are returned even if the acks fail: acked messages never come again.
      await waitFor(this.ackAll(member, pulled), { waitMs: lastAt - performance.now(), signal }).catch(
        (error: unknown) => {
          if (!signal?.aborted) throw error;
        },
      );
    }
    this.#unreadable.report(chatIds, options);
    return pulled;
  }

  /** Acks pulled chats: each up to its last message, or to the end of its gap without messages. */
  async ackAll(member: string, pulled: readonly Pulled<Body>[]): Promise<void> {
    await Promise.all(pulled.map((chat) => this.#ack(member, chat)));
  }

  #count(pulled: readonly Pulled<Body>[]): void {
    const { telemetry } = this.#context;
    if (!telemetry) return;
    for (const { messages, gap } of pulled) {
      telemetry.count(PULLED, messages.length);
      if (gap) telemetry.count(GAPS, 1);
    }
  }

  async #look(member: string, { includeMuted, isWaiting, ...bounds }: Bounds): Promise<Look<Body>> {
    const lookedAt = performance.now();
    const known = this.#quiet.of(member, lookedAt);
    const found = await this.#unreadable.find(this.#index, member, UNREAD_HEAD, includeMuted, known);
    const { chatIds, joined, quiet, useless } = found;
    if (quiet.length < known.length) {
      const isStillQuiet = new Set(quiet);
      for (const chatId of known) if (!isStillQuiet.has(chatId)) this.#quiet.delete(member, chatId);
    }
    const unread: JoinedChat[] = [];
    for (const chat of joined) {
      const [lastId = 0] = chat.head;
      if (lastId > ackedIdOf(chat.score)) unread.push(chat);
      else this.#quiet.add(member, chat.chatId, lookedAt, chat.isEmpty);
    }
    const reading = this.#reader.read({ member, chats: unread, lookedAt }, bounds);
    this.#index.clean(member, useless);
    const pulled = await reading;
    const candidates = isWaiting && pulled.length === 0 ? await this.#index.candidates(member, useless) : [];
    this.#quiet.keep(member, chatIds);
    const watched = [...joined.map(({ chatId }) => chatId), ...quiet, ...candidates];
    return { chatIds, watched, pulled: inOrder(chatIds, pulled) };
  }

  async #ack(member: string, { chatId, epoch, messages, gap }: Pulled<Body>): Promise<void> {
    const upToId = messages.at(-1)?.id ?? gap?.toId;
    if (upToId === undefined) return;
    try {
      await this.#unreadable.attempt(chatId, () => this.#acks.ack(chatId, member, upToId, { epoch }));
    } catch (error) {
      // The member has left in between, or was added to a later chat of the same name: there is nothing to ack.
      const isGone =
        error instanceof NotFoundError ||
        (error instanceof NotAllowedError && error.code === 'ERR_NOT_A_MEMBER');
      if (!isGone) throw error;
    }
  }
}

function inOrder<Body>(chatIds: readonly string[], pulled: Pulled<Body>[]): Pulled<Body>[] {
  if (pulled.length < 2) return pulled;
  const places = new Map(chatIds.map((chatId, place) => [chatId, place]));
  return pulled.toSorted((a, b) => places.get(a.chatId)! - places.get(b.chatId)!);
}
