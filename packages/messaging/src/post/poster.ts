import { Coalescer, requireName } from '@mortise/redis';
import { NotAllowedError, UnknownIdError } from '../errors.js';
import type { ChatsContext } from '../log/context.js';
import type { Appended } from '../log/appended.js';
import { toAppended } from '../log/appended.js';
import { encodeMember } from '../log/entry.js';
import type { NewMessage } from '../log/packed-messages.js';
import { newMessage, packMessages } from '../log/packed-messages.js';
import type { PostOptions } from '../options.js';
import { resolvePostOptions } from '../resolve-options.js';
import { chatPost } from '../scripts.gen.js';

/** The result of `post`, `edit` and `delete`. */
export type PostResult = Appended;

interface Post extends NewMessage {
  readonly sender: string;
}

/** Messages, and bytes, in one script call: about 0.5 ms of the server. */
const MAX_BATCH = { messages: 100, bytes: 1_048_576 };

/** Posts to chats. Posts to one chat in the same tick are one script call. */
export class Poster {
  readonly #context: ChatsContext;
  readonly #posts = new Coalescer<string, Post, PostResult>((chatId, posts) => this.#send(chatId, posts), {
    maxBatch: MAX_BATCH.messages,
    maxBytes: MAX_BATCH.bytes,
    bytesOf: ({ jsonBytes }) => jsonBytes,
  });

  constructor(context: ChatsContext) {
    this.#context = context;
  }

  async post(chatId: string, sender: string, body: unknown, options: PostOptions): Promise<PostResult> {
    requireName('chatId', chatId);
    const id = resolvePostOptions('post', options);
    const author = encodeMember('sender', sender);
    const message = newMessage(chatId, author, body, id, this.#context);
    return this.#posts.submit(chatId, { sender, ...message });
  }

  async #send(chatId: string, posts: readonly Post[]): Promise<(PostResult | Error)[]> {
    const { redis, keys, limits, hub, telemetry } = this.#context;
    const { senders, packed } = packMessages(posts);
    const replies = (await chatPost.run(redis, keys.chat(chatId), {
      publish: hub.publishCommand,
      limits: limits.packed,
      count: posts.length,
      packed,
      senders,
    })) as (number | null)[] | null;
    if (replies === null) return posts.map(() => UnknownIdError.chat(chatId));
    return toAppended(posts, replies, telemetry, ({ sender }, refusal) =>
      refusal === 0 ? NotAllowedError.readOnly(chatId, sender) : NotAllowedError.notAMember(chatId, sender),
    );
  }
}
