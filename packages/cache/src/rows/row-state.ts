import type { RowCodec } from './row-codec.js';
import { parseState } from './schedule-state.js';

/** A row and its place in the schedule. */
export interface RowState<Row> {
  /** The row. Null if it was not loaded yet, or is missing. */
  readonly row: Row | null;
  /** The etag, which is equal for equal rows; null without a row. */
  readonly etag: string | null;
  /**
   * How long the row may have differed from the database, in ms: since the start of its last load. Null before the first load.
   */
  readonly ageMs: number | null;
  /** The time between refreshes, in ms. Null for a row that is not scheduled. */
  readonly everyMs: number | null;
  /** When the row is due, in ms from now; 0 if it is due or being loaded. Null for a row that is not scheduled. */
  readonly nextInMs: number | null;
  /** The number of consecutive failed loads. */
  readonly failures: number;
  /** The message of the last of them, up to 200 characters; null without failures, and for those of a former version. */
  readonly lastError: string | null;
}

/** Parses the reply of `row-cache.inspect.lua`. */
export function toRowState<Row>(
  reply: readonly (Buffer | null)[],
  codec: RowCodec<Row>,
): RowState<Row> | null {
  const [nowText, value = null, state, score, failures, error] = reply;
  const stored = codec.read(value);
  if (!stored && !state) return null;
  const now = Number(nowText);
  const { loadedAt: confirmedAt, everyMs } = parseState(state?.toString('latin1') ?? '');
  const loadedAt = Math.max(confirmedAt, stored?.loadedAt ?? 0);
  const dueAt = Number(score ?? now);
  return {
    row: stored?.row ?? null,
    etag: stored && stored.row !== null ? stored.etag : null,
    ageMs: loadedAt === 0 ? null : Math.max(0, now - loadedAt),
    everyMs: state ? everyMs : null,
    // The end of a lease is at half a millisecond.
    nextInMs: state ? (Number.isInteger(dueAt) ? Math.max(0, dueAt - now) : 0) : null,
    failures: Number(failures ?? 0),
    lastError: error?.toString() || null,
  };
}
