/**
 * A pack: rows that are refreshed together, at the price of one. Claim and commit cost Redis for each row that is moved in a ZSET, and
 * for each state of a row that is read and written; a pack has one score and one state for all of its rows, and the heads of their
 * values in one string. Nearly all of what a refresh costs is gone with that (docs/decisions/0014).
 *
 *   rows of one batch ──commit──▶ pack ──claim──▶ leased ──commit──▶ pack
 *                                  └── a row is changed, gone or failed: it leaves, and has a score of its own
 *
 * Nothing is written into the rows of a pack when one leaves: the id goes into a list beside it, and the next commit writes the rest anew.
 */
import { decodeName, encodeName } from '@mortise/redis';
import type { ScheduleState } from './schedule-state.js';

/** A pack under a lease. Its rows are those of the claim from `from` to `to`. */
export interface ClaimedPack {
  readonly name: string;
  readonly everyMs: number;
  readonly from: number;
  readonly to: number;
  /** Characters of the list of those that had left it. */
  readonly seen: number;
}

/** A row of a pack, as it was loaded. */
export interface PackedRow {
  readonly id: string;
  readonly head: string;
}

/** Rows that were not packed before make a pack if they are so many. */
export const MIN_PACK_ROWS = 8;

const HEAD_LENGTH = 16;

/** What the claim script tells of packs, added to the rows that are in none. */
export function unpack(
  parts: readonly string[],
  ids: string[],
  states: (ScheduleState | null)[],
): ClaimedPack[] {
  const packs: ClaimedPack[] = [];
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
    // As the script counts it: ids are not ASCII alone.
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

/** Of rows whose stored values nobody knows: whatever is loaded next is stored. */
export function formatUnknown(ids: readonly string[]): string {
  return formatRows(ids.map((id) => ({ id, head: '0'.repeat(HEAD_LENGTH) })));
}

/** No other claim of the shard has this lease, so no other pack has this name. */
export function packName(lease: string, index: number): string {
  return `${Math.floor(Number(lease)).toString(36)}.${index}`;
}
