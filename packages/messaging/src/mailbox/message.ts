import type { Codecs } from '@mortise/redis';
import type { IdRange } from '../log/entry.js';
import { decodeEntry } from '../log/entry.js';

/** A message as its recipient reads it. */
export interface Message<Body = unknown> {
  /** The number of the message, without gaps within an epoch of a mailbox: 1, 2, 3 … */
  readonly id: number;
  readonly from: string;
  readonly body: Body;
  /** When the server stored the message, ms since 1970, by the server's clock. Never earlier than the message before. */
  readonly sentAt: number;
  /** Messages directly before this one that were dropped unread. Absent if there are none. */
  readonly droppedBefore?: IdRange;
}

/** A stored entry as its recipient reads it. */
export function toMessage<Body>(entry: string, epoch: number, codecs: Codecs | undefined): Message<Body> {
  const { id, from, body, sentAt } = decodeEntry<Body>(entry, epoch, codecs);
  return { id, from, body: body as Body, sentAt };
}
