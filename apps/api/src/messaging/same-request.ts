import { isDeepStrictEqual } from 'node:util';

import type { ChatMessage, Chats } from '@mortise/messaging';

import { Problem } from '../problems/problem.js';

/** The entry of a request with an Idempotency-Key. */
export interface Repeated {
  readonly key: string;
  readonly chatId: string;
  /** The id of the stored entry. */
  readonly id: number;
  readonly kind: 'message' | 'edit';
  readonly sender: string;
  readonly body: unknown;
}

/** The most entries searched for an edit. */
const MOST = 100;

/**
 * Throws the problem `request-reused` when the stored entry has another sender or body. An entry that is gone, edited or
 * deleted cannot be compared, and counts as the same.
 */
export async function requireSameRequest(chats: Chats, repeated: Repeated): Promise<void> {
  const { key, chatId, id, kind, sender, body } = repeated;
  // The answer is right without it.
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
