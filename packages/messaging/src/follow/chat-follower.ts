import type { Position } from './resume-token.js';

/** The subscription of a followed chat, as the chat sees it. */
export interface ChatFollower<Chat> {
  readonly member: string;
  readonly encodedMember: string;
  /** The chat may have an event. */
  wake(chat: Chat): void;
  /** The member's position is known now. */
  onBegun(chat: Chat): void;
  /** The member is not in the chat, or not yet. */
  onAbsent(chat: Chat): void;
  /** Stored data of the chat is damaged; it is read again later. */
  onUnreadable(chat: Chat, cause: unknown): void;
  /** The member has joined the chat, for the first time or again. */
  onJoined(chatId: string): void;
  fail(error: unknown): void;
}

/** The start of a followed chat. */
export interface FollowedChatOptions {
  /** The position in the token. */
  readonly start: Position | undefined;
  /** Whether the member joined during the subscription. */
  readonly isNewcomer: boolean;
}
