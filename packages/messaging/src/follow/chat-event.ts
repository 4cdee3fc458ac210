import type { ChatMessage } from '../log/chat-message.js';

interface Of<Type extends string> {
  readonly type: Type;
  readonly chatId: string;
  /** Continues after this event: `follow(member, { after: token })`. */
  readonly token: string;
}

/** An event that changes the unread messages of the member. */
interface Counted {
  /**
   * With `includeUnread`: the member's unread messages in the chat, counted when the event is handed out. Absent if they
   * cannot be counted.
   */
  readonly unread?: number;
}

/** An entry of the chat, in the order of the ids, including the member's own. */
export interface MessageEvent<Body = unknown> extends Of<'message' | 'edit' | 'delete'>, Counted {
  /** The epoch of the message, for `ack`: a later chat may have the same name. */
  readonly epoch: number;
  readonly message: ChatMessage<Body>;
}

/**
 * Entries that the member had not acked were dropped before delivery: by a limit, by age, because the member left, or with
 * the chat. Ids, both included.
 */
export interface GapEvent extends Of<'gap'>, Counted {
  /** The epoch of the ids. */
  readonly epoch: number;
  readonly fromId: number;
  readonly toId: number;
}

/**
 * The chat was created again, the server lost data so that ids went back, or the token's position is invalid. The events
 * continue after the member's cursor.
 */
export interface ResetEvent extends Of<'reset'> {
  /** The present epoch of the chat. */
  readonly epoch: number;
}

/**
 * A member joined or left. The event always comes for the followed member, whose messages begin or end here. For other members
 * it reaches only present followers, and is not stored.
 */
export interface MembershipEvent extends Of<'joined' | 'left'> {
  readonly member: string;
}

/** The chat was deleted: its last member has left. */
export type EndedEvent = Of<'ended'>;

/** Another member is typing. Never stored. */
export interface TypingEvent extends Of<'typing'> {
  readonly member: string;
}

/** The status of another member. Never stored. */
export interface PresenceEvent extends Of<'presence'> {
  readonly member: string;
  readonly status: string;
}

/** An event of `follow`. */
export type ChatEvent<Body = unknown> =
  | MessageEvent<Body>
  | GapEvent
  | ResetEvent
  | MembershipEvent
  | EndedEvent
  | TypingEvent
  | PresenceEvent;

/** The endless events of all chats of a member. */
export interface ChatEvents<Body = unknown> extends AsyncIterableIterator<ChatEvent<Body>> {
  /**
   * Starts the iteration, as the first `next` does, and resolves when later posts will be pushed. Idempotent. Rejects as `next`
   * does. Also resolves if the iteration ends before, for example with the signal.
   */
  open(): Promise<void>;
}
