/**
 * A pack: rows that are refreshed together at the cost of one. Lease and commit cost Redis for each row that moves in a
 * ZSET, and for each state of a row that is read and written. A pack has one score and one state for all its rows, and the
 * heads of their values in one string. That removes nearly the whole cost of a refresh (docs/decisions/0014).
 *
 *   rows of one batch ──commit──▶ pack ──lease──▶ leased ──commit──▶ pack
 *                                  └── a row is changed, missing or failed: it leaves and has a score of its own
 *
 * The rows of a pack are not rewritten when one leaves. Its id is added to a list, and the next commit writes the remaining
 * rows.
 */
import { decodeName, encodeName } from '@mortise/redis';
import type { ScheduleState } from './schedule-state.js';

/** A pack under a lease. Its rows are those of the batch from `from` to `to`. */
export interface LeasedPack {
  readonly name: string;
  readonly everyMs: number;
  readonly from: number;
  readonly to: number;
  /** Bytes of the list of rows that had left it. */
  readonly seen: number;
}

/** A row of a pack and the head of its value. */
export interface PackedRow {
  readonly id: string;
  readonly head: string;
}

/** The fewest single rows that become a pack. */
export const MIN_PACK_ROWS = 8;

const HEAD_LENGTH = 16;

/** Appends the rows of packs to the single rows. */
export function unpack(
  parts: readonly string[],
  ids: string[],
  states: (ScheduleState | null)[],
): LeasedPack[] {
  const packs: LeasedPack[] = [];
  for (let at = 0; at < parts.length; at += 4) {
    const [name, header, rows, left] = parts.slice(at, at + 4) as [string, string, string, string];
    const [loadedAt, everyMs] = header.split(' ').map(Number) as [number, number];
    const hasLeft = new Set(left.split('\n'));
    const from = ids.length;
    for (const row of rows.split('\n')) {
      const id = row.slice(HEAD_LENGTH);
      if (hasLeft.has(id)) continue;
      ids.push(decodeName(id));
      states.push({ loadedAt, head: row.slice(0, HEAD_LENGTH), everyMs });
    }
    // In bytes, as the script counts.
    packs.push({ name, everyMs, from, to: ids.length, seen: Buffer.byteLength(left) });
  }
  return packs;
}

/** @param loadedAt 13 digits. */
export function formatHeader(loadedAt: string, everyMs: number, size: number): string {
  return `${loadedAt} ${everyMs} ${size}`;
}

export function formatRows(rows: readonly PackedRow[]): string {
  return rows.map(({ id, head }) => head + encodeName(id)).join('\n');
}

/** Rows with unknown values: whatever is loaded next is stored. */
export function formatUnknown(ids: readonly string[]): string {
  return formatRows(ids.map((id) => ({ id, head: '0'.repeat(HEAD_LENGTH) })));
}

/** A unique name, because no other batch of the shard has this lease. */
export function packName(lease: string, index: number): string {
  return `${Math.floor(Number(lease)).toString(36)}.${index}`;
}
