/**
 * Cursors of pages. A cursor holds the position of the last entry of a page, so entries that are added or removed elsewhere
 * move no page. It is safe in a URL. Its checksum over the book and the query refuses cursors of other pages. The checksum
 * is not a signature, so each value is checked too: a forged cursor shows another position of the same pages, or is refused.
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
const POSITION_FIELDS = 4;
/** As Redis writes a score. */
const RANK = /^-?(?:inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const EDITS: ReadonlySet<unknown> = new Set<Edit>([0, 1, 2]);

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
  const cursor = parse(text);
  if (!isCursor(cursor)) throw new InvalidCursorError('it is not a position');
  if (cursor[0] !== order) throw new InvalidCursorError('it is of another order');
  return cursor;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCursor(value: unknown): value is Cursor {
  if (!Array.isArray(value)) return false;
  const [order, ...fields] = value as unknown[];
  if (order === 'a') return fields.length === 1 && typeof fields[0] === 'string';
  const [rank, member, edit, depth] = fields;
  return (
    order === 's' &&
    fields.length === POSITION_FIELDS &&
    typeof rank === 'string' &&
    RANK.test(rank) &&
    typeof member === 'string' &&
    EDITS.has(edit) &&
    Number.isSafeInteger(depth) &&
    (depth as number) >= 0
  );
}

function checksumOf(text: string, scope: readonly unknown[]): string {
  return createHash('sha1')
    .update(JSON.stringify(scope))
    .update(text)
    .digest('base64url')
    .slice(0, CHECKSUM_LENGTH);
}
