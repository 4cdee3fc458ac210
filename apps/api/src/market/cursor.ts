/**
 * A cursor is the name of a list and the last position of a page, in base64url. The next page begins after that position in
 * byte order. A listing that is sold between two pages neither shifts the next page nor breaks the cursor.
 */
import { requireInteger } from '@mortise/redis';

import { DEFAULT_PAGE, MAX_PAGE } from '../http/page-limits.js';
import { InvalidCursorError } from './errors.js';
import type { Page } from './types.js';

/** An id, or the member of an index: a number and an id. */
const POSITION = /^[A-Za-z0-9._~@:-]{1,128}(?: [A-Za-z0-9._~@:-]{1,128})?$/;

/** The position after which the page begins; undefined for the first page. Throws ERR_INVALID_CURSOR. */
export function readCursor(list: string, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const position = text.slice(list.length + 1);
  if (!POSITION.test(position) || writeCursor(list, position) !== cursor) throw new InvalidCursorError();
  return position;
}

function writeCursor(list: string, position: string): string {
  return Buffer.from(`${list} ${position}`, 'latin1').toString('base64url');
}

/** Throws TypeError or RangeError. */
export function requireLimit(limit = DEFAULT_PAGE): number {
  return requireInteger('limit', limit, { min: 1, max: MAX_PAGE });
}

/** Makes a page. Callers pass one item and position beyond the limit when more exist. */
export function pageOf<T>(
  list: string,
  positions: readonly string[],
  items: readonly T[],
  limit: number,
): Page<T> {
  const last = positions.length > limit ? positions[limit - 1] : undefined;
  return { items: items.slice(0, limit), nextCursor: last === undefined ? null : writeCursor(list, last) };
}
