import type { Role as ChatRole } from '@mortise/messaging';
import type { RedisAddress } from '../locks/config.js';

/**
 * The work of a process. In chats: `revise` posts as well, and edits every second message afterwards;
 * `govern` gives one who pulls another role, again and again. In mailboxes, whose recipients are `chats`: `send`, and `receive` as a
 * device of all of them.
 */
export type Role = 'post' | 'revise' | 'pull' | 'follow' | 'govern' | 'send' | 'receive';

/** Whose posts have to reach everybody. */
export const SENDING: readonly Role[] = ['post', 'revise', 'send'];
/** The roles that have to receive them. */
export const READING: readonly Role[] = ['pull', 'follow', 'receive'];

/** The settings of a process, as JSON in its only argument. */
export interface ActorConfig {
  readonly role: Role;
  /** Its name in all chats; also the member who is read for. */
  readonly member: string;
  /** To which it posts, or from which it reads: chats or recipients. */
  readonly chats: readonly string[];
  /** Gets what happens to it, and tells whoever takes its place where to go on; see records.ts. */
  readonly file: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** Between two posts to a chat. */
  readonly pauseMs: number;
  readonly sabotage?: Sabotage;
}

/** The defect in the scripts of a process; see sabotage.ts. */
export type Sabotage =
  | 'ids of senders are not noted'
  | 'acks free what others have not read'
  | 'acks of a device free what others have not received'
  | 'acks of a device are not noted';

/** The order to a process over IPC: end when the present post is accepted. */
export type Order = 'stop';

/** A posted body: the number of the message among those of its sender in this chat, from 1. */
export interface Numbered {
  readonly n: number;
  /** In the body of an edit: which message of its sender that was. */
  readonly edit?: number;
}

/** How a sender names a message to the chat. */
export function idOf(n: number): string {
  return `n${n}`;
}

/** Whose role changes all the time, where somebody governs. */
export const GOVERNED = 'pull 0';

const CHAT_ROLES: readonly ChatRole[] = ['owner', 'member', 'reader'];

/** The n-th role that a governed member is given. */
export function roleOf(n: number): ChatRole {
  return CHAT_ROLES[n % CHAT_ROLES.length]!;
}
