/**
 * The position of a listing as an opaque text, safe in a URL. It names a place in the data instead of server state, so it
 * does not expire and can be reused.
 */
import { ArgumentRangeError, ArgumentTypeError } from '@mortise/redis';
import type { TaskState } from '../task/task.js';

export interface Cursor {
  readonly shard: number;
  /** As queue.list.lua returns and accepts it. */
  readonly section: number;
  readonly at: string;
  readonly after: Buffer;
}

export const START: Cursor = { shard: 0, section: 0, at: '', after: Buffer.alloc(0) };

/** An id, or an entry of a group: its name and an id. */
const MAX_CHARACTERS = 8_192;

export function encodeCursor(state: TaskState, { shard, section, at, after }: Cursor): string {
  return Buffer.from(JSON.stringify([state, shard, section, at, after.toString('base64url')])).toString(
    'base64url',
  );
}

/** Throws TypeError or RangeError for a value that is not a cursor, or a cursor of another state. */
export function decodeCursor(state: TaskState, cursor: unknown): Cursor {
  if (typeof cursor !== 'string')
    throw new ArgumentTypeError(`cursor must be a string, got ${typeof cursor}`);
  const [of, shard, section, at, after] = parse(cursor);
  const isCursor =
    of === state &&
    isCount(shard) &&
    isCount(section) &&
    typeof at === 'string' &&
    (state === 'waiting' ? /^\d{0,20}$/ : /^\d{0,15}(\.\d{1,6})?$/).test(at) &&
    typeof after === 'string';
  if (!isCursor) {
    throw new ArgumentRangeError(`cursor must be one that listing the ${state} tasks has returned`);
  }
  return { shard, section, at, after: Buffer.from(after, 'base64url') };
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 1_000;
}

function parse(cursor: string): unknown[] {
  if (cursor.length > MAX_CHARACTERS) return [];
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
