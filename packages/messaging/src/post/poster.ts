import { Coalescer, requireName } from '@mortise/redis';
import { NotAllowedError, NotFoundError } from '../errors.js';
import type { ChatsContext } from '../log/chats-context.js';
import { countPosted } from '../log/count-posted.js';
import type { IdRange } from '../log/entry.js';
import { encodeBody, encodeMember, toRange } from '../log/entry.js';
import { limitsOperand } from '../log/limits-operand.js';
import { messageKey } from '../log/message-key.js';
import type { NewMessage } from '../log/packed-messages.js';
import { packMessages } from '../log/packed-messages.js';
import type { PostOptions } from '../options.js';
import { resolvePostOptions } from '../resolve-options.js';
import { chatPost } from '../scripts.gen.js';

/** The result of `post`, `edit` and `delete`. */
export interface PostResult {
  /** The id of the message in the chat. */
  readonly id: number;
  /** Whether the sender's id was known: nothing was posted, and `id` is that of the first time. */
  readonly isDuplicate: boolean;
  /**
   * Messages that the chat dropped to stay within its limits. Messages of one script call report the same range. Absent if
   * there are none.
   */
  readonly dropped?: IdRange;
}

interface Post extends NewMessage {
  readonly sender: string;
}

/** Messages, and bytes, in one script call: about 0.5 ms of the server. */
const MAX_BATCH = { messages: 100, bytes: 1_048_576 };

/** Posts to chats. Posts to one chat in the same tick are one script call. */
export class Poster {
  readonly #context: ChatsContext;
  readonly #limits: Buffer;
  readonly #posts = new Coalescer<string, Post, PostResult>((chatId, posts) => this.#send(chatId, posts), {
    maxBatch: MAX_BATCH.messages,
    maxBytes: MAX_BATCH.bytes,
    bytesOf: ({ jsonBytes }) => jsonBytes,
  });

  constructor(context: ChatsContext) {
    const { keepMs, dedupMs, maxMessages, maxBytes, keepAcked } = context.limits;
    this.#context = context;
    this.#limits = limitsOperand([keepMs, dedupMs, maxMessages, maxBytes, keepAcked]);
  }

  async post(chatId: string, sender: string, body: unknown, options: PostOptions): Promise<PostResult> {
    requireName('chatId', chatId);
    const id = resolvePostOptions('post', options);
    const author = encodeMember('sender', sender);
    const json = encodeBody(chatId, body, this.#context.limits.maxPayloadBytes);
    const key = messageKey(author, id);
    const jsonBytes = Buffer.byteLength(json);
    return this.#posts.submit(chatId, { sender, author, key, json, jsonBytes, hasId: id !== undefined });
  }

  async #send(chatId: string, posts: readonly Post[]): Promise<(PostResult | Error)[]> {
    const { redis, keys, hub, telemetry } = this.#context;
    const { senders, packed } = packMessages(posts);
    const replies = (await chatPost.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      limits: this.#limits,
      count: posts.length,
      packed,
      senders,
    })) as (number | null)[] | null;
    if (replies === null) return posts.map(() => NotFoundError.chat(chatId));
    const dropped = toRange(replies[posts.length] ?? 0, replies[posts.length + 1] ?? 0);
    const results = posts.map(({ sender, hasId }, index) => {
      const id = replies[index] ?? null;
      if (id === null) return NotAllowedError.notAMember(chatId, sender);
      if (id === 0) return NotAllowedError.readOnly(chatId, sender);
      return { id: Math.abs(id), isDuplicate: id < 0 && hasId, ...(dropped && { dropped }) };
    });
    countPosted(telemetry, results, dropped);
    return results;
  }
}
