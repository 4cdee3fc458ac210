/**
 * Pulls the unread messages of all chats of a member in three steps. They read the index, the head of each chat, and the
 * entries of chats with new ones. The first step also asks whether the logs of quiet chats are empty, so a member with
 * nothing new needs one round trip, also right after acks.
 */
import { requireArray, requireName, requireObject, waitFor } from '@mortise/redis';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import { ackedIdOf } from '../log/score.js';
import type { MemberIndex } from '../members/member-index.js';
import type { PullOptions } from '../options.js';
import { resolvePullOptions } from '../resolve-options.js';
import { countRead } from '../telemetry/count-read.js';
import { LAST_ANSWER_MS, untilUnread } from '../wait/until-unread.js';
import type { Acks } from './acks.js';
import type { Pulled } from './pulled.js';
import type { QuietChats } from './quiet-chats.js';
import { UNREAD_HEAD, UnreadReader } from './unread-reader.js';
import { UnreadableChats } from './unreadable-chats.js';

interface Bounds {
  readonly limit: number;
  readonly maxReplyBytes: number;
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

/** The first byte of a frame with a new entry of a chat, see `src/follow/frame.ts`. */
const ENTRY = 'm'.charCodeAt(0);
/** Messages on the channel of a member: a chat was added, mutes were changed. */
const ADDED = 'c'.charCodeAt(0);
const MUTES = 'u'.charCodeAt(0);
/** Bytes of a frame before its text: its kind, and a u32 with the length of the text. */
const FRAME_HEAD = 5;

export class Puller<Body> {
  readonly #context: ChatsContext;
  readonly #index: MemberIndex;
  readonly #acks: Acks;
  readonly #reader: UnreadReader<Body>;
  readonly #quiet: QuietChats;
  readonly #unreadable: UnreadableChats;

  /** @param quiet Learns of acks elsewhere. */
  constructor(context: ChatsContext, index: MemberIndex, acks: Acks, quiet: QuietChats) {
    this.#context = context;
    this.#index = index;
    this.#acks = acks;
    this.#quiet = quiet;
    this.#reader = new UnreadReader(context);
    this.#unreadable = UnreadableChats.of(context);
  }

  async pull(member: string, options: PullOptions): Promise<Pulled<Body>[]> {
    requireName('member', member);
    const { waitMs, signal, autoAck, ...wanted } = resolvePullOptions(options);
    const { keys } = this.#context;
    const lastAt = waitMs === 0 ? Infinity : performance.now() + waitMs + LAST_ANSWER_MS;
    const { chatIds, pulled } = await untilUnread(
      this.#context,
      () => this.#look(member, { ...wanted, isWaiting: waitMs > 0 }),
      (look) => look.pulled.length > 0,
      {
        reader: member,
        waitMs,
        signal,
        channelsOf: ({ watched }) => [
          keys.member(member).events,
          ...watched.map((chatId) => keys.chat(chatId).events),
        ],
        isUpdate,
      },
    );
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
    for (const [index, chat] of requireArray('pulled', pulled).entries()) {
      requireObject(`pulled[${index}]`, chat);
      requireArray(`messages of pulled[${index}]`, chat.messages);
    }
    await Promise.all(pulled.map((chat) => this.#ack(member, chat)));
  }

  #count(pulled: readonly Pulled<Body>[]): void {
    const { telemetry } = this.#context;
    if (!telemetry) return;
    for (const { messages, gap } of pulled) countRead(telemetry, messages, gap !== undefined);
  }

  async #look(member: string, { includeMuted, isWaiting, ...bounds }: Bounds): Promise<Look<Body>> {
    const lookedAt = performance.now();
    const known = this.#unreadable.known(this.#quiet.of(member, lookedAt));
    const found = await this.#index.find(member, UNREAD_HEAD, includeMuted, known);
    const { chatIds, joined, quiet, awake, useless } = found;
    const unread = joined.filter(({ head: [lastId = 0], score }) => lastId > ackedIdOf(score));
    // By chat, as QuietChats has it.
    const newest = new Map(unread.map(({ chatId, head }) => [chatId, head[0]]));
    for (const group of awake) {
      // Logs with unread messages of this member explain as many.
      const isInUse = group.chatIds.filter((chatId) => newest.has(chatId)).length < group.logs;
      for (const chatId of group.chatIds) {
        if (isInUse && !newest.has(chatId)) newest.set(chatId, Infinity);
        this.#quiet.delete(member, chatId);
      }
    }
    for (const { chatId } of joined) {
      this.#quiet.add(member, chatId, lookedAt, newest.get(chatId) ?? 0);
    }
    const reading = this.#reader.read(member, unread, bounds);
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
        error instanceof UnknownIdError ||
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

/** Whether there may be something new to pull. A join brings nothing, since new members begin after the newest message. */
function isUpdate(body: Buffer): boolean {
  if (body[0] === ADDED || body[0] === MUTES) return true;
  for (let at = 0; at + FRAME_HEAD <= body.length; at += FRAME_HEAD + body.readUInt32BE(at + 1)) {
    if (body[at] === ENTRY) return true;
  }
  return false;
}
