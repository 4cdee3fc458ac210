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

/** Entries that are looked at, for an edit of the message. */
const MOST = 100;

/**
 * Throws the problem `request-reused` when the entry is of another sender or has another body. That can't be known of what is not stored
 * any more, and not of the body of a message that was edited or deleted, or may have been: then it is taken for the same.
 */
export async function requireSameRequest(chats: Chats, repeated: Repeated): Promise<void> {
  const { key, chatId, id, kind, sender, body } = repeated;
  const options = { after: id - 1, limit: MOST };
  // What is answered is true without it.
  const page = await chats.history(chatId, options).catch((): ChatMessage[] => []);
  const [entry] = page;
  if (entry?.id !== id || entry.kind !== kind) return;
  const isBodyOfThen = kind === 'edit' || (page.length < MOST && !page.some(({ revises }) => revises === id));
  const isOtherBody = isBodyOfThen && !isDeepStrictEqual(entry.body, body);
  if (entry.from !== sender || isOtherBody)
    throw new Problem('request-reused', undefined, { requestKey: key });
}
