import type { ChatMessage } from '../log/chat-message.js';
import type { IdRange } from '../log/entry.js';

/** The unread messages of one chat. */
export interface Pulled<Body = unknown> {
  readonly chatId: string;
  /** The epoch of the ids: these begin anew when a chat of the same name is created again. */
  readonly epoch: number;
  readonly messages: ChatMessage<Body>[];
  /** Messages after the cursor, including the returned ones. Edits and deletions are not messages. */
  readonly unread: number;
  readonly lastId: number;
  /** The cursor from which the messages were read. */
  readonly ackedId: number;
  /** Dropped entries after the cursor. Absent if there are none. */
  readonly gap?: IdRange;
  readonly isMuted: boolean;
}
