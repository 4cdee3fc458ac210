/**
 * Chats with damaged data: a key with a wrong type, or a value in a wrong format. Reads of all chats of a member are
 * pipelines, which fail with the first error, so one such chat would hide all others.
 *
 * A failed pipeline is therefore repeated chat by chat. Chats that fail again are omitted and reported. They are remembered
 * for a few seconds, so that further pulls need no extra round trips.
 */
import type { Read } from '@mortise/redis';
import { decodeName, encodeName, readMany } from '@mortise/redis';
import type { ChatsContext } from '../log/chats-context.js';
import { ChatUnreadableError } from '../errors.js';
import type { UnreadableOptions } from '../options.js';
import { UNREADABLE } from '../telemetry/metrics.js';
import type { Findings, Known, MemberIndex } from '../members/member-index.js';

/** An unreadable chat is read again after this time, which shows a repair. */
const MAX_AGE_MS = 5_000;
/** Maximum for a process. Further ones are found again each time. */
const MAX_CHATS = 1_000;
/** Errors that one damaged key causes. Any other error may concern all chats. */
const OF_ONE_CHAT = /^WRONGTYPE\b|^ERR .*\buser_script\b/;

const all = new WeakMap<ChatsContext, UnreadableChats>();

export class UnreadableChats {
  readonly #context: ChatsContext;
  /** By chat; valid until an instant of `performance.now()`. */
  readonly #chats = new Map<string, { readonly error: ChatUnreadableError; readonly until: number }>();
  readonly #printed = new Set<string>();

  /** One for each context, so that all services share its knowledge. */
  static of(context: ChatsContext): UnreadableChats {
    let chats = all.get(context);
    if (!chats) {
      chats = new UnreadableChats(context);
      all.set(context, chats);
    }
    return chats;
  }

  private constructor(context: ChatsContext) {
    this.#context = context;
  }

  /** `find` of the index, without these chats. */
  async find(
    index: MemberIndex,
    member: string,
    head: readonly string[],
    includeMuted: boolean,
    quiet: readonly string[] = [],
  ): Promise<Findings> {
    const now = performance.now();
    for (const [chatId, { until }] of this.#chats) if (until <= now) this.#chats.delete(chatId);
    const known: Known = { quiet, isLeftOut: (chatId) => this.#chats.has(chatId) };
    const found = await index.find(member, head, includeMuted, known).catch(ofOneChat);
    if (found) return found;
    await this.#examine(member);
    return index.find(member, head, includeMuted, known);
  }

  /** The result of the work on one chat; null for an unreadable chat, which is remembered. */
  async attempt<Result>(chatId: string, work: () => Promise<Result>): Promise<Result | null> {
    try {
      return await work();
    } catch (error) {
      if (!isOfOneChat(error)) throw error;
      this.#add(chatId, error);
      return null;
    }
  }

  /** Reports the unreadable chats among these. */
  report(chatIds: readonly string[], { onUnreadable }: UnreadableOptions): void {
    if (this.#chats.size === 0) return;
    const errors = chatIds.flatMap((chatId) => this.#chats.get(chatId)?.error ?? []);
    this.#context.telemetry?.count(UNREADABLE, errors.length);
    for (const error of errors) this.#reportTo(error, onUnreadable);
  }

  /** Reports a chat that a follower cannot read. */
  note(chatId: string, cause: unknown, { onUnreadable }: UnreadableOptions): void {
    this.#context.telemetry?.count(UNREADABLE, 1);
    this.#reportTo(new ChatUnreadableError(chatId, cause), onUnreadable);
  }

  /** Reads each chat of the member separately. */
  async #examine(member: string): Promise<void> {
    const { redis, keys } = this.#context;
    const name = encodeName(member);
    const indexed = (await redis.call('zrange', [keys.member(member).chats, 0, -1])) as string[];
    await Promise.all(
      indexed.map(decodeName).map((chatId) => {
        const read: Read = ['zscore', keys.chat(chatId).chat, name];
        return this.attempt(chatId, () => readMany(redis, [read]));
      }),
    );
  }

  #add(chatId: string, cause: unknown): void {
    if (this.#chats.size >= MAX_CHATS && !this.#chats.has(chatId)) {
      this.#chats.delete(this.#chats.keys().next().value!);
    }
    const error = new ChatUnreadableError(chatId, cause);
    this.#chats.set(chatId, { error, until: performance.now() + MAX_AGE_MS });
  }

  #reportTo(error: ChatUnreadableError, onUnreadable: UnreadableOptions['onUnreadable']): void {
    if (onUnreadable) call(onUnreadable, error);
    else this.#print(error);
  }

  #print({ chatId, message }: ChatUnreadableError): void {
    if (this.#printed.has(chatId) || this.#printed.size >= MAX_CHATS) return;
    this.#printed.add(chatId);
    console.error(`mortise: ${message}`);
  }
}

/** For the `catch` of reads of several chats: null when one damaged chat explains the error. Throws other errors. */
export function ofOneChat(error: unknown): null {
  if (isRefusedOfOneChat(error)) return null;
  throw error;
}

/** Whether one damaged chat explains the error: one of its keys, or an invalid entry. */
export function isOfOneChat(error: unknown): boolean {
  return error instanceof SyntaxError || isRefusedOfOneChat(error);
}

function isRefusedOfOneChat(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && OF_ONE_CHAT.test(error.message);
}

function call(onUnreadable: (error: ChatUnreadableError) => void, error: ChatUnreadableError): void {
  try {
    onUnreadable(error);
  } catch (thrown) {
    console.error('mortise: onUnreadable threw', thrown);
  }
}
