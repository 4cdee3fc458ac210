import { isDeepStrictEqual } from 'node:util';

import type { ChatMessage, Chats } from '@mortise/messaging';

import { Problem } from '../problems/problem.js';

/** What a request with an Idempotency-Key has posted, or would have. */
export interface Repeated {
  readonly key: string;
  readonly chatId: string;
  /** Of the entry that is there. */
  readonly id: number;
  readonly kind: 'message' | 'edit';
  readonly sender: string;
  readonly body: unknown;
}

/** Entries that are looked at, for an edit of a message that has another body. */
const MOST = 100;

/**
 * Throws the problem `request-reused` when the entry is of another sender or has another body. That can't be known of what is not stored
 * any more, and not of the body of a message that was edited or deleted, or may have been: then it is taken for the same.
 */
export async function requireSameRequest(chats: Chats, repeated: Repeated): Promise<void> {
  const { key, chatId, id, kind, sender, body } = repeated;
  // What is answered is true without it.
  const read = (limit: number): Promise<ChatMessage[]> =>
    chats.history(chatId, { after: id - 1, limit }).catch(() => []);
  const [entry] = await read(1);
  if (entry?.id !== id || entry.kind !== kind) return;
  if (entry.from === sender) {
    // As it was stored: JSON has no -0, and no number as large as 1e999.
    if (isDeepStrictEqual(entry.body, JSON.parse(JSON.stringify(body)))) return;
    if (kind === 'message') {
      const page = await read(MOST);
      const isKnown = page[0]?.id === id && page.length < MOST;
      if (!isKnown || page.some(({ revises }) => revises === id)) return;
    }
  }
  throw new Problem('request-reused', undefined, { requestKey: key });
}
