import type { Redis } from 'ioredis';

/** A connection to the chats, as one caller has it. It lives as long as its process. */
export interface ChatClient {
  /** With a first message, by the first member. */
  create(chat: string, members: readonly string[], text: string): Promise<unknown>;
  post(chat: string, sender: string, text: string): Promise<unknown>;
  /** Posts all in the quickest way, with the same result as one after the other. */
  postMany(chat: string, sender: string, texts: readonly string[]): Promise<unknown>;
  /** Reads what is new for a member in all chats, up to 10 messages of each, and acks it. How many messages that was. */
  pull(member: string): Promise<number>;
}

/** Members of one process; each gets posted messages as soon as the connection allows. */
export interface Audience {
  /** Resolves when each of them has had so many messages in all. */
  until(messages: number): Promise<void>;
}

/** A way to have chats: a library, or commands. */
export interface ChatKind {
  readonly name: string;
  readonly version: string;
  /** Callers of a process share a connection, where the way allows it. */
  connect(url: string, options?: ChatOptions): ChatClient;
  /** Keys that are there for some minutes after a post, as a pattern. */
  readonly passing?: string;
  /** How many messages a chat has taken so far. */
  accepted(redis: Redis, chat: string): Promise<number>;
  /** Calls back for each message that is pushed to a member; resolves when that is under way. */
  follow?(url: string, member: string, onMessage: () => void): Promise<void>;
  /** Whether members have it without asking. */
  readonly isPushed: boolean;
  attend?(url: string, members: readonly string[]): Promise<Audience>;
}

export interface ChatOptions {
  /** Keeps at least so many messages of a chat that nobody has read. */
  readonly kept?: number;
}

/** Unread messages of a chat that a member finds. */
export const UNREAD = 10;
