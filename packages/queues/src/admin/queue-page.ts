/** Pages of the list of queues. */
import {
  ArgumentRangeError,
  decodeName,
  encodeName,
  requireArray,
  requireInteger,
  requireOptions,
  requireText,
} from '@mortise/redis';

import type { Overviews, QueueOverview } from '../inspect/overview.js';
import type { Counts } from '../task/task.js';

/** A queue in numbers. */
export interface QueueFigures {
  readonly name: string;
  readonly counts: Counts;
  /** How long ago the next task was enqueued, ms, by the clock of this process; null when none is ready. */
  readonly headAgeMs: number | null;
  readonly isPaused: boolean;
}

export interface QueuePage {
  readonly items: QueueFigures[];
  /** Continues after the page; null: it is the last one. */
  readonly nextCursor: string | null;
}

export interface QueuePageOptions {
  /** Maximum of queues. 1 to 200. Default 50. A page of long names has fewer: its names have at most 64 kB as JSON. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
}

const OPTIONS = new Set(['limit', 'cursor']);
const LIMIT = { min: 1, max: 200 };
const DEFAULT_LIMIT = 50;
const MOST_JSON_BYTES = 65_536;
/** Of a name of which each byte is encoded. */
const MAX_CURSOR_BYTES = 8_192;

/**
 * The queues after the cursor, in the order of the names. Queues that come or go between two pages shift no other one. The round trips of
 * `overviews.read` for the queues of the page. Throws ERR_INVALID_ARG, also for a cursor that is not one.
 *
 * @param names Of all queues, sorted as `Queue.names` does it.
 */
export async function queuePage(
  overviews: Overviews,
  names: readonly string[],
  options: QueuePageOptions = {},
): Promise<QueuePage> {
  const { limit = DEFAULT_LIMIT, cursor } = requireOptions('queuePage', options, OPTIONS);
  requireInteger('limit', limit, LIMIT);
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const later = after === undefined ? requireArray('names', names) : names.filter((name) => name > after);
  const shown = firstOf(later, limit);
  const found = await overviews.read(shown);
  const items = figuresOf(shown, found, Date.now());
  return { items, nextCursor: shown.length < later.length ? encodeCursor(shown.at(-1)!) : null };
}

/** The first of the names, not more than fit. */
export function firstOf(names: readonly string[], limit: number): readonly string[] {
  let bytes = 0;
  const fitting = names.slice(0, limit).findIndex((name, index) => {
    bytes += Buffer.byteLength(JSON.stringify(name));
    return index > 0 && bytes > MOST_JSON_BYTES;
  });
  return names.slice(0, fitting === -1 ? limit : fitting);
}

export function figuresOf(
  names: readonly string[],
  found: readonly QueueOverview[],
  now: number,
): QueueFigures[] {
  return names.map((name, index) => {
    const { counts, nextEnqueuedAt, isPaused } = found[index]!;
    const headAgeMs = nextEnqueuedAt === null ? null : Math.max(0, now - nextEnqueuedAt);
    return { name, counts, headAgeMs, isPaused };
  });
}

/** The name of the last queue, as keys have it: a name may have characters that UTF-8 has not. */
function encodeCursor(name: string): string {
  return Buffer.from(encodeName(name)).toString('base64url');
}

function decodeCursor(cursor: string): string {
  const text = Buffer.from(requireText('cursor', cursor, { max: MAX_CURSOR_BYTES }), 'base64url').toString();
  const name = decodeName(text);
  if (name === '' || encodeCursor(name) !== cursor)
    throw new ArgumentRangeError('cursor must be the nextCursor of a page');
  return name;
}
