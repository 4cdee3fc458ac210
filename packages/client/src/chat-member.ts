import type { Follower, MortiseClient } from './client.js';
import { pause, retryMsOf } from './pause.js';
import { ProblemError } from './problem-error.js';
import { topicOf } from './topics.js';

/** Options of a post. */
export interface PostOptions {
  /** Identifies the message, which is posted once however often it is sent. Default: a random id. */
  readonly id?: string | undefined;
  /** Ends the attempts: the call rejects with the signal's reason. The message may have been posted. */
  readonly signal?: AbortSignal | undefined;
}

const ID_BYTES = 16;
const NEVER = new AbortController().signal;

/** The calls of a member of chats. The credential acts for the member and needs `messaging:read` and `messaging:write`. */
export class ChatMember {
  readonly #client: MortiseClient;
  readonly #member: string;

  /** Sends nothing. */
  constructor(client: MortiseClient, member: string) {
    this.#client = client;
    this.#member = member;
  }

  /** Follows all chats of the member: first the unread messages, then what happens. See `MortiseClient.follow`. */
  follow(follower: Follower<`member:${string}`>): () => void {
    return this.#client.follow(topicOf('member', this.#member), follower);
  }

  /**
   * Posts a message once, and resolves with its id. While the API does not answer, or refuses for a time, the message is sent
   * again under the same id. Rejects with ProblemError for a lasting refusal.
   */
  async post(
    chatId: string,
    body: unknown,
    { id = randomId(), signal = NEVER }: PostOptions = {},
  ): Promise<number> {
    const request = {
      body: { sender: this.#member, body },
      headers: { 'idempotency-key': id },
      signal,
    };
    for (let failures = 0; ; failures += 1) {
      let waitMs: number | undefined;
      try {
        const path = `chats/${encodeURIComponent(chatId)}/messages`;
        return ((await this.#client.request('POST', path, request)) as { readonly id: number }).id;
      } catch (error) {
        if (error instanceof ProblemError) {
          if (!error.isTransient) throw error;
          waitMs = error.retryAfterMs;
        }
      }
      signal.throwIfAborted();
      await pause(retryMsOf(failures, waitMs), signal);
      signal.throwIfAborted();
    }
  }

  /** Acks the messages up to an id, which then never come again. Pass the epoch of the event. Safe to repeat. */
  async ack(chatId: string, upToId: number, epoch?: number): Promise<void> {
    const path = `chats/${encodeURIComponent(chatId)}/members/${encodeURIComponent(this.#member)}/cursor`;
    await this.#client.request('PUT', path, { body: { upToId, ...(epoch !== undefined && { epoch }) } });
  }

  /** Shows the other members that this member is typing. */
  async typing(chatId: string): Promise<void> {
    const path = `chats/${encodeURIComponent(chatId)}/typing`;
    await this.#client.request('POST', path, { body: { member: this.#member } });
  }
}

/** Also on a page without TLS, which has no `randomUUID`. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
