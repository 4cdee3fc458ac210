/**
 * Identifies a message within its chat or mailbox, so that a repeated call finds it: its sender and their id. Without an id
 * it gets 16 random bytes, which find a message that ioredis sends again after a lost connection.
 */
import { encodeName, requireName } from '@mortise/redis';
import { randomFillSync } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Drawn for 256 messages at a time: one draw costs as much as the rest of a key. */
const RANDOM = { bytes: 16, pool: new Uint8Array(256 * 16), used: 256 * 16 };

/** A deletion is identified by its author and message, so it can be repeated when the message isn't stored any more. */
export function deletionKey(author: string, messageId: number): Buffer {
  return Buffer.from(`${author}\u0002${messageId}`);
}

/** The id of an edit is unique among the author's edits of one message: posts and other edits may have the same id. */
export function editKey(author: string, messageId: number, id: string | undefined): Buffer {
  return messageKey(`${author}\u0003${messageId}`, id);
}

/**
 * Throws TypeError or RangeError for an invalid id.
 *
 * @param author As stored: without control characters, so keys of two authors never collide.
 */
export function messageKey(author: string, id: string | undefined): Buffer {
  if (id === undefined) return randomKey();
  requireName('id', id);
  // A UUID takes 16 bytes instead of 36.
  if (UUID.test(id)) {
    return Buffer.concat([Buffer.from(`${author}\u0001`), Buffer.from(id.replaceAll('-', ''), 'hex')]);
  }
  return Buffer.from(`${author}\0${encodeName(id)}`);
}

function randomKey(): Buffer {
  if (RANDOM.used === RANDOM.pool.length) {
    randomFillSync(RANDOM.pool);
    RANDOM.used = 0;
  }
  const from = RANDOM.used;
  RANDOM.used += RANDOM.bytes;
  return Buffer.from(RANDOM.pool.slice(from, RANDOM.used).buffer);
}
