/**
 * Cursors of pages. A cursor holds the position of the last entry of a page, so entries that are added or removed elsewhere
 * move no page. It is safe in a URL. Its checksum over the book and the query refuses cursors of other pages. The checksum
 * is not a signature: a forged cursor shows other positions of the same book.
 */
import { createHash } from 'node:crypto';
import { InvalidCursorError } from '../../errors.js';
import type { Edit } from '../suggestion.js';

/** The end of a page. */
export type Cursor =
  /** In the order of scores: rank and member of the last entry, how it matched, and the number of entries so far. */
  | readonly ['s', rank: string, member: string, edit: Edit, depth: number]
  /** In the order of bytes: the first text after the last entry. */
  | readonly ['a', place: string];

const CHECKSUM_LENGTH = 8;

/** @param scope The book, the tokens and the order of the pages. */
export function writeCursor(cursor: Cursor, scope: readonly unknown[]): string {
  const text = JSON.stringify(cursor);
  return checksumOf(text, scope) + Buffer.from(text).toString('base64url');
}

/** Throws InvalidCursorError. */
export function readCursor(given: unknown, scope: readonly unknown[], order: Cursor[0]): Cursor {
  if (typeof given !== 'string') throw new InvalidCursorError(`it is of type ${typeof given}`);
  const text = Buffer.from(given.slice(CHECKSUM_LENGTH), 'base64url').toString();
  // Compared with a new encoding, because decoding ignores characters that are not base64.
  if (given !== checksumOf(text, scope) + Buffer.from(text).toString('base64url')) {
    throw new InvalidCursorError('it is damaged, or of another book, text or order');
  }
  const cursor = JSON.parse(text) as Cursor;
  if (cursor[0] !== order) throw new InvalidCursorError('it is of another order');
  return cursor;
}

function checksumOf(text: string, scope: readonly unknown[]): string {
  return createHash('sha1')
    .update(JSON.stringify(scope))
    .update(text)
    .digest('base64url')
    .slice(0, CHECKSUM_LENGTH);
}
