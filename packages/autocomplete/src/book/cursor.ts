/**
 * Cursors of pages: where the last entry of a page stands, so that what is added or removed elsewhere moves no page. They are text for
 * URLs, and bear a checksum over the book and the query, so that one of other pages is refused instead of giving wrong ones. It is no
 * signature: who makes a cursor up sees other places of the same book.
 */
import { createHash } from 'node:crypto';
import { InvalidCursorError } from '../errors.js';
import type { Edit } from './suggestion.js';

/** Where a page ends. */
export type Cursor =
  /** In the order of scores: the rank and the member, by what it was found, entries so far. */
  | readonly ['s', rank: string, member: string, edit: Edit, depth: number]
  /** In the order of bytes: the first text that comes behind it. */
  | readonly ['a', place: string];

const CHECKSUM_LENGTH = 8;

/** @param scope what the pages are of: the book, the tokens, the order */
export function writeCursor(cursor: Cursor, scope: readonly unknown[]): string {
  const text = JSON.stringify(cursor);
  return checksumOf(text, scope) + Buffer.from(text).toString('base64url');
}

/** Throws InvalidCursorError. */
export function readCursor(after: unknown, scope: readonly unknown[], order: Cursor[0]): Cursor {
  if (typeof after !== 'string') throw new InvalidCursorError(`it is of type ${typeof after}`);
  const text = Buffer.from(after.slice(CHECKSUM_LENGTH), 'base64url').toString();
  // Written again, since what isn't base64 is passed over in reading.
  if (after !== checksumOf(text, scope) + Buffer.from(text).toString('base64url')) {
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
