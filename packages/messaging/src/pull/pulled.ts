import type { ChatMessage } from '../log/chat-message.js';
import type { IdRange } from '../log/entry.js';

/** The unread messages of one chat. */
export interface Pulled<Body = unknown> {
  readonly chatId: string;
  /** Tells one numbering from the next: ids begin anew when a chat of the same name is created again. */
  readonly epoch: number;
  readonly messages: ChatMessage<Body>[];
  /** Messages after the cursor, those returned included. Edits and deletions are no messages. */
  readonly unread: number;
  readonly lastId: number;
  /** The cursor from which was read. */
  readonly ackedId: number;
  /** Entries after the cursor that were dropped. Absent when there are none. */
  readonly gap?: IdRange;
  readonly isMuted: boolean;
}
