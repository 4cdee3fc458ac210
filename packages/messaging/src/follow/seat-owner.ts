import type { Position } from './resume-token.js';
import type { Seat } from './seat.js';

/** What a seat tells whose it is. */
export interface SeatOwner {
  readonly member: string;
  readonly encodedMember: string;
  /** There may be something to take. */
  ring(seat: Seat): void;
  /** It is known now where the member stands. */
  onBegun(seat: Seat): void;
  /** The chat doesn't have the member, or not yet. */
  onAbsent(seat: Seat): void;
  /** What is stored of the chat is damaged. It is tried again later. */
  onUnreadable(seat: Seat, cause: unknown): void;
  /** The member has come (back) to the chat. */
  onJoined(chatId: string): void;
  fail(error: unknown): void;
}

/** Where a seat begins. */
export interface SeatOptions {
  /** What a token says of the chat. */
  readonly start: Position | undefined;
  /** What it says of chats that it doesn't name: ids by the hashes of their places. */
  readonly bookmarks: ReadonlyMap<number, number>;
  /** The member was added while the follower was at work. */
  readonly isNewcomer: boolean;
}
