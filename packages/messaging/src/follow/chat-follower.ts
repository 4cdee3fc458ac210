import type { FollowedChat } from './followed-chat.js';
import type { Position } from './resume-token.js';

/** The subscription of a `FollowedChat`, as the chat sees it. */
export interface ChatFollower {
  readonly member: string;
  readonly encodedMember: string;
  /** The chat may have an event. */
  wake(chat: FollowedChat): void;
  /** The member's position is known now. */
  onBegun(chat: FollowedChat): void;
  /** The member is not in the chat, or not yet. */
  onAbsent(chat: FollowedChat): void;
  /** Stored data of the chat is damaged; it is read again later. */
  onUnreadable(chat: FollowedChat, cause: unknown): void;
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
