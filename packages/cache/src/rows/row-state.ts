import type { RowCodec } from './row-codec.js';
import { parseState } from './schedule-state.js';

/** A row and where it stands in the schedule. */
export interface RowState<Row> {
  /** Null: it was not loaded yet, or is gone. */
  readonly row: Row | null;
  /** Equal for equal rows; null without a row. */
  readonly etag: string | null;
  /** For how long, in ms, the row may have been another in the database: since the load began that last found it so. Null: never loaded. */
  readonly ageMs: number | null;
  /** ms between refreshes; null: not scheduled. */
  readonly everyMs: number | null;
  /** When it is due, in ms from now: 0 when it is, or is being loaded. Null: not scheduled. */
  readonly nextInMs: number | null;
  /** Loads of this row in a row that failed. */
  readonly failures: number;
}

/** Of what `row-cache.inspect.lua` replies. */
export function toRowState<Row>(
  reply: readonly (Buffer | null)[],
  codec: RowCodec<Row>,
): RowState<Row> | null {
  const [nowText, value = null, state, score, failures] = reply;
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
  };
}
