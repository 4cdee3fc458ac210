import { Coalescer, requireName } from '@mortise/redis';
import { NotAMemberError, ReadOnlyMemberError, UnknownChatError } from '../errors.js';
import type { IdRange } from '../log/entry.js';
import { encodeBody, encodeMember, toRange } from '../log/entry.js';
import type { Incoming } from '../log/incoming.js';
import { packIncoming } from '../log/incoming.js';
import { limitsOperand } from '../log/limits-operand.js';
import { encodeSenderId } from '../log/sender-id.js';
import type { PostOptions } from '../options.js';
import { chatPost } from '../scripts.gen.js';
import type { ChatsContext } from './chats-context.js';

/** What became of a message that was posted. */
export interface PostResult {
  /** The id of the message in the chat. */
  readonly id: number;
  /** True when the sender's id was known: nothing was posted, and `id` is that of the first time. */
  readonly isDuplicate: boolean;
  /**
   * Messages that the chat dropped to stay within its limits. Messages that travelled together report the same range.
   * Absent when there are none.
   */
  readonly dropped?: IdRange;
}

interface Post extends Incoming {
  readonly sender: string;
  /** Whether the sender gave it an id. Without one, what was stored before was stored by the same call. */
  readonly hasId: boolean;
}

/** Messages, and bytes, in one script call: some 0.5 ms of the server. */
const MAX_BATCH = { messages: 100, bytes: 1_048_576 };

/** Puts messages into chats: those of one tick and chat in one script call. */
export class Poster {
  readonly #context: ChatsContext;
  readonly #limits: Buffer;
  readonly #posts = new Coalescer<string, Post, PostResult>((chatId, posts) => this.#send(chatId, posts), {
    maxBatch: MAX_BATCH.messages,
    maxBytes: MAX_BATCH.bytes,
    bytesOf: ({ jsonBytes }) => jsonBytes,
  });

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#limits = limitsOperand(context.limits);
  }

  async post(chatId: string, sender: string, body: unknown, { id }: PostOptions): Promise<PostResult> {
    requireName('chatId', chatId);
    const author = encodeMember('sender', sender);
    const json = encodeBody(chatId, body, this.#context.limits.maxBodyBytes);
    const field = encodeSenderId(author, id);
    const jsonBytes = Buffer.byteLength(json);
    return this.#posts.submit(chatId, { sender, author, field, json, jsonBytes, hasId: id !== undefined });
  }

  async #send(chatId: string, posts: readonly Post[]): Promise<(PostResult | Error)[]> {
    const { redis, keys, hub, tally } = this.#context;
    const { senders, incoming } = packIncoming(posts);
    const replies = (await chatPost.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      limits: this.#limits,
      count: posts.length,
      incoming,
      senders,
    })) as (number | null)[] | null;
    if (replies === null) return posts.map(() => new UnknownChatError(chatId));
    const dropped = toRange(replies[posts.length] ?? 0, replies[posts.length + 1] ?? 0);
    const results = posts.map(({ sender, hasId }, index) => {
      const id = replies[index] ?? null;
      if (id === null) return new NotAMemberError(chatId, sender);
      if (id === 0) return new ReadOnlyMemberError(chatId, sender);
      return { id: Math.abs(id), isDuplicate: id < 0 && hasId, ...(dropped && { dropped }) };
    });
    tally?.posted(results, dropped);
    return results;
  }
}
