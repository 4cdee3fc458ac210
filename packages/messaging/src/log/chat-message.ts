import type { Codecs } from '@mortise/redis';
import { decodeEntry } from './entry.js';

/** A message, an edit or a deletion, as members read it. */
export interface ChatMessage<Body = unknown> {
  /** The number of the message, without gaps within an epoch of a chat: 1, 2, 3 … */
  readonly id: number;
  readonly kind: 'message' | 'edit' | 'delete';
  /** The author of the message, edit or deletion. */
  readonly from: string;
  /** Undefined for a deletion. */
  readonly body: Body;
  /** When the server stored the message, ms since 1970, by the server's clock. Never earlier than the message before. */
  readonly sentAt: number;
  /** The message that an edit or a deletion revises. */
  readonly revises?: number;
}

/** A stored entry as members read it; undefined for a tombstone. */
export function toChatMessage<Body>(
  entry: string,
  epoch: number,
  codecs: Codecs | undefined,
): ChatMessage<Body> | undefined {
  const { id, kind, from, body, sentAt, revises } = decodeEntry<Body>(entry, epoch, codecs);
  if (kind === 'deleted') return undefined;
  const message = { id, kind, from, body: body as Body, sentAt };
  return revises === undefined ? message : { ...message, revises };
}
