import type { ChatMessage } from '../chat/chat-message.js';
import type { IdRange } from '../log/entry.js';

/** What is new in one chat. */
export interface Pulled<Body = unknown> {
  readonly chatId: string;
  /** Tells one numbering from the next: ids begin anew when a chat of the same name is created again. */
  readonly epoch: number;
  readonly messages: ChatMessage<Body>[];
  /** Messages behind the cursor, those returned included. Edits and deletions are no messages. */
  readonly unread: number;
  readonly lastId: number;
  /** The cursor from which was read. */
  readonly ackedId: number;
  /** Entries behind the cursor that were dropped. Absent when there are none. */
  readonly gap?: IdRange;
  readonly isMuted: boolean;
}
