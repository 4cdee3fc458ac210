import type { ChatMessage } from '../chat/chat-message.js';

interface Of<Type extends string> {
  readonly type: Type;
  readonly chatId: string;
  /** Goes on behind this event: `follow(member, { after: token })`. */
  readonly token: string;
}

/** An entry of the chat, in the order of the ids; the member's own are among them. */
export interface MessageEvent<Body = unknown> extends Of<'message' | 'edit' | 'delete'> {
  /** Of the chat whose id it has, for `ack`: another chat of the name may have been created since. */
  readonly epoch: number;
  readonly message: ChatMessage<Body>;
}

/**
 * Entries that the member had not acked were dropped before they were delivered: by a cap, by their age, or because the member
 * left, or the chat is gone. Ids, both included.
 */
export interface GapEvent extends Of<'gap'> {
  /** As of a message. */
  readonly epoch: number;
  readonly fromId: number;
  readonly toId: number;
}

/**
 * The ids of the chat began anew, or went back (it was created again, or lost by the server), or the position of the token
 * is of no use: what follows begins behind the member's cursor.
 */
export interface ResetEvent extends Of<'reset'> {
  /** Of the chat as it is now. */
  readonly epoch: number;
}

/**
 * Somebody came or went. When it is the member who is followed, it is certain to be reported: their messages follow, or have
 * ended. Others are reported when it happens, to those who follow then, and not stored.
 */
export interface MembershipEvent extends Of<'joined' | 'left'> {
  readonly member: string;
}

/** The chat is gone: its last member has left. */
export type EndedEvent = Of<'ended'>;

/** Another member is typing. Never stored. */
export interface TypingEvent extends Of<'typing'> {
  readonly member: string;
}

/** What another member has told of their presence. Never stored. */
export interface PresenceEvent extends Of<'presence'> {
  readonly member: string;
  readonly status: string;
}

/** What a follower gets. */
export type ChatEvent<Body = unknown> =
  | MessageEvent<Body>
  | GapEvent
  | ResetEvent
  | MembershipEvent
  | EndedEvent
  | TypingEvent
  | PresenceEvent;

/** The events of all chats of a member, without an end. */
export interface ChatEvents<Body = unknown> extends AsyncIterableIterator<ChatEvent<Body>> {
  /**
   * Begins, which asking for an event does as well, and resolves when the follower is at work: what is posted from then on is
   * pushed to it. Idempotent. Rejects as `next` does then; resolves, too, when the iteration is ended before that.
   */
  open(): Promise<void>;
}
