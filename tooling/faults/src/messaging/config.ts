import type { RedisAddress } from '../locks/config.js';

/** Who posts, reads or follows, in a process of their own. */
export type Role = 'post' | 'pull' | 'follow';

/** What a process is told, as JSON in its only argument. */
export interface ActorConfig {
  readonly role: Role;
  /** Its name in all chats; also the member who is read for. */
  readonly member: string;
  /** To which it posts. */
  readonly chats: readonly string[];
  /** Gets what happens to it, and tells whoever takes its place where to go on; see records.ts. */
  readonly file: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** Between two posts to a chat. */
  readonly pauseMs: number;
  readonly sabotage?: Sabotage;
}

/** What is broken in the scripts of a process; see sabotage.ts. */
export type Sabotage = 'ids of senders are not noted' | 'acks free what others have not read';

/** What a process is told over IPC: end when the present post is accepted. */
export type Order = 'stop';

/** What it tells. */
export type ActorMessage = 'ready';

/** What is posted: which message of its sender in this chat it is, from 1. */
export interface Numbered {
  readonly n: number;
}

/** How a sender names a message to the chat. */
export function idOf(n: number): string {
  return `n${n}`;
}
