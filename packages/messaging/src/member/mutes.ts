import { Coalescer, encodeName, requireInteger, requireName } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import { NotAMemberError } from '../errors.js';
import type { MuteOptions } from '../options.js';
import { memberMute, memberUnmute } from '../scripts.gen.js';

interface Change {
  readonly chatId: string;
  /** In ms since 1970; 0: for ever, -1: not at all. */
  readonly untilMs: number;
}

const FOREVER = 0;
const NOT_MUTED = -1;
/** Changes in one script call. */
const MAX_BATCH = 100;

/** Which chats a member doesn't want to hear of. */
export class Mutes {
  readonly #context: ChatsContext;
  readonly #changes: Coalescer<string, Change, void>;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#changes = new Coalescer((member, changes) => this.#changeBatch(member, changes), {
      maxBatch: MAX_BATCH,
    });
  }

  async mute(member: string, chatId: string, { untilMs }: MuteOptions): Promise<void> {
    const until = untilMs === undefined ? FOREVER : requireInteger('untilMs', untilMs, { min: 1 });
    return this.#submit(member, chatId, until);
  }

  async unmute(member: string, chatId: string): Promise<void> {
    return this.#submit(member, chatId, NOT_MUTED);
  }

  #submit(member: string, chatId: string, untilMs: number): Promise<void> {
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
      isDone === 1 ? undefined : new NotAMemberError(changes[index]!.chatId, member),
    );
  }
}
