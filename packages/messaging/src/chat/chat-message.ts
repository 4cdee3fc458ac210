import { decodeEntry } from '../log/entry.js';

/** A message as members get it. */
export interface ChatMessage<Body = unknown> {
  /** Dense within an epoch of a chat: 1, 2, 3 … */
  readonly id: number;
  readonly kind: 'message' | 'edit' | 'delete';
  /** Who wrote it; of an edit or a deletion, who did that. */
  readonly from: string;
  /** Undefined for a deletion. */
  readonly body: Body;
  /** When the server took it, in ms since 1970, by the server's clock. Never less than that of the message before. */
  readonly sentAt: number;
  /** Of an edit or a deletion: the message. */
  readonly revises?: number;
}

/** A stored entry as members get it; undefined for the place of a deleted message. */
export function toChatMessage<Body>(entry: string, epoch: number): ChatMessage<Body> | undefined {
  const { id, kind, from, body, sentAt, revises } = decodeEntry<Body>(entry, epoch);
  if (kind === 'deleted') return undefined;
  const message = { id, kind, from, body: body as Body, sentAt };
  return revises === undefined ? message : { ...message, revises };
}
