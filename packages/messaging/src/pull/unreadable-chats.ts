/**
 * Chats with damaged data: a key with a wrong type, or a value in a wrong format. They are omitted, reported, and not read
 * for a few seconds; other chats are not affected.
 */
import { ErrorReporter } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import { ChatUnreadableError } from '../errors.js';
import type { UnreadableOptions } from '../options.js';
import { UNREADABLE } from '../telemetry/metrics.js';
import type { Known } from '../members/member-index.js';

/** An unreadable chat is read again after this time, which shows a repair. */
const MAX_AGE_MS = 5_000;
/** Maximum for a process. Further ones are found again each time. */
const MAX_CHATS = 1_000;
/** Errors that one damaged key causes. Any other error may concern all chats. */
const OF_ONE_CHAT = /^WRONGTYPE\b|^ERR .*\buser_script\b/;

const NAME = 'mortise chats';

const all = new WeakMap<ChatsContext, UnreadableChats>();

export class UnreadableChats {
  readonly #context: ChatsContext;
  /** By chat; valid until an instant of `performance.now()`. */
  readonly #chats = new Map<string, { readonly error: ChatUnreadableError; readonly until: number }>();
  readonly #reporter = new ErrorReporter(NAME);

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

  /** For `MemberIndex.find`: leaves these chats out, and adds damaged ones. */
  known(quiet: readonly string[] = []): Known {
    const now = performance.now();
    for (const [chatId, { until }] of this.#chats) if (until <= now) this.#chats.delete(chatId);
    return {
      quiet,
      isLeftOut: (chatId) => this.#chats.has(chatId),
      onError: (chatId, error) => this.add(chatId, error),
    };
  }

  /** Remembers a chat that could not be read. Throws an error that one damaged chat does not explain. */
  add(chatId: string, cause: unknown): void {
    if (!isOfOneChat(cause)) throw cause;
    if (this.#chats.size >= MAX_CHATS && !this.#chats.has(chatId)) {
      this.#chats.delete(this.#chats.keys().next().value!);
    }
    const error = new ChatUnreadableError(chatId, cause);
    this.#chats.set(chatId, { error, until: performance.now() + MAX_AGE_MS });
  }

  /** The result of the work on one chat; null for an unreadable chat, which is remembered. */
  async attempt<Result>(chatId: string, work: () => Promise<Result>): Promise<Result | null> {
    try {
      return await work();
    } catch (error) {
      this.add(chatId, error);
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

  #reportTo(error: ChatUnreadableError, onUnreadable: UnreadableOptions['onUnreadable']): void {
    if (onUnreadable) new ErrorReporter(NAME, () => onUnreadable(error)).report(error);
    else this.#reporter.reportRepeated(error);
  }
}

/** Whether one damaged chat explains the error: one of its keys, or an invalid entry. */
export function isOfOneChat(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  return error instanceof Error && error.name === 'ReplyError' && OF_ONE_CHAT.test(error.message);
}
