/**
 * What a message is known by within its chat or mailbox, for as long as repeating it is safe: its author and the id that
 * they gave it. Without one it gets 16 random bytes: then it is ioredis that may repeat it, after a lost connection.
 */
import { encodeName, requireName } from '@mortise/redis';
import { v7 as uuid } from 'uuid';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;

/** A deletion is known by who deletes what: repeating it is one, also where the message isn't stored any more. */
export function encodeDeletion(author: string, messageId: number): Buffer {
  return Buffer.from(`${author}\u0002${messageId}`);
}

/** An edit is known by its id among those of its author to one message: neither a post nor an edit of another one has it too. */
export function encodeEdit(author: string, messageId: number, id: string | undefined): Buffer {
  return encodeSenderId(`${author}\u0003${messageId}`, id);
}

/**
 * Throws TypeError or RangeError for an id that is no name.
 *
 * @param author As stored: without control characters, so that no two authors collide.
 */
export function encodeSenderId(author: string, id: string | undefined): Buffer {
  if (id === undefined) return uuid(undefined, Buffer.allocUnsafe(UUID_BYTES));
  requireName('id', id);
  // A UUID takes 16 bytes instead of 36.
  if (UUID.test(id)) {
    return Buffer.concat([Buffer.from(`${author}\u0001`), Buffer.from(id.replaceAll('-', ''), 'hex')]);
  }
  return Buffer.from(`${author}\0${encodeName(id)}`);
}
