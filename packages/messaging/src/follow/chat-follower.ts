import type { FollowedChat } from './followed-chat.js';
import type { Position } from './resume-token.js';

/** The subscription of a `FollowedChat`, as the chat calls it. */
export interface ChatFollower {
  readonly member: string;
  readonly encodedMember: string;
  /** The chat may have an event. */
  wake(chat: FollowedChat): void;
  /** The position of the member is known now. */
  onBegun(chat: FollowedChat): void;
  /** The chat doesn't have the member, or not yet. */
  onAbsent(chat: FollowedChat): void;
  /** Stored data of the chat is damaged. It is tried again later. */
  onUnreadable(chat: FollowedChat, cause: unknown): void;
  /** The member has joined the chat, for the first time or again. */
  onJoined(chatId: string): void;
  fail(error: unknown): void;
}

/** Where a followed chat begins. */
export interface FollowedChatOptions {
  /** The position in the token. */
  readonly start: Position | undefined;
  /** Whether the member joined during the subscription. */
  readonly isNewcomer: boolean;
}
