import type { Head } from './chat-heads.js';

/** A member who follows a chat, as the feed of the chat sees them. */
export interface FeedFollower {
  readonly encodedMember: string;
  /** The member may join: they are not in the chat, or not yet. */
  readonly isCandidate: boolean;
  /** Stored data of the chat is damaged. */
  readonly isUnreadable: boolean;
  /** There may be an event. */
  wake(): void;
  /** Something may have been missed: nothing is taken before the next read of the head. */
  doubt(): void;
  /** The head and the member's position were read. Both are undefined when there is no chat. */
  onHead(head: Head | undefined, cursor: number | undefined): void;
  acked(ackedId: number): void;
  joined(): void;
  left(endSeq: number, toId: number, ackedId: number): void;
  /** The chat has ended. */
  ended(seq: number): void;
  fail(error: unknown): void;
}
