/** Pages of a schedule. A shard has its rows in a HASH, so a page is in the order of HSCAN, one shard after the other. */
import {
  ArgumentRangeError,
  decodeName,
  requireBoolean,
  requireInteger,
  requireOptions,
  shownValue,
} from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { rowCacheList } from '../scripts.gen.js';
import type { TableKeys } from './keys.js';
import { parseState } from './schedule-state.js';

export interface ListRowsOptions {
  /** About how many rows a page has, from 1 to 1,000. A page may have fewer rows, and a small table is one page. Default 100. */
  readonly limit?: number | undefined;
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
  /** Whether only rows are listed whose last load failed. Default `false`. */
  readonly failing?: boolean | undefined;
}

/** A scheduled row. */
export interface ListedRow {
  readonly id: string;
  /** The time between refreshes, in ms. */
  readonly everyMs: number;
  /**
   * How long the row may have differed from the database, in ms: since the start of its last load. Null before the first load.
   */
  readonly ageMs: number | null;
  /** When the row is due, in ms from now; 0 if it is due or being loaded. */
  readonly nextInMs: number;
  /** How long the row has been due, in ms; 0 if it is not due, or being loaded. */
  readonly lagMs: number;
  /** The number of consecutive failed loads. */
  readonly failures: number;
  /**
   * The message of the last failure, up to 200 characters. Null without failures, and for failures that a former version
   * stored.
   */
  readonly lastError: string | null;
}

export interface RowPage {
  /** The rows, in no order. A row that is scheduled or unscheduled meanwhile may be listed or not. A row may be on two pages. */
  readonly rows: readonly ListedRow[];
  /** The cursor of the next page; null on the last page. A page before the last one may be empty. */
  readonly cursor: string | null;
}

const DEFAULTS = { limit: 100, failing: false };
const KNOWN = new Set(['limit', 'cursor', 'failing']);
/** The number of a shard, and a position in it. */
const CURSOR = /^(\d{1,2})-(\d{1,20})$/;
const FIELDS = 5;

/** Throws TypeError or RangeError for a wrong option. */
export async function listRows(
  redis: RedisClient,
  { shards }: TableKeys,
  options: ListRowsOptions,
): Promise<RowPage> {
  const {
    limit = DEFAULTS.limit,
    cursor,
    failing = DEFAULTS.failing,
  } = requireOptions('list', options, KNOWN);
  requireInteger('limit', limit, { min: 1, max: 1_000 });
  requireBoolean('failing', failing);
  const [shard, position] = positionOf(cursor, shards.length);
  const reply = (await rowCacheList.run(redis, shards[shard]!, {
    position,
    limit,
    isFailing: failing ? 1 : 0,
  })) as (string | null)[];
  const [next, now, ...fields] = reply;
  const rows: ListedRow[] = [];
  for (let at = 0; at < fields.length; at += FIELDS)
    rows.push(toRow(Number(now), fields.slice(at, at + FIELDS)));
  if (next !== '0') return { rows, cursor: `${shard}-${next}` };
  return { rows, cursor: shard + 1 < shards.length ? `${shard + 1}-0` : null };
}

function positionOf(cursor: unknown, shards: number): [shard: number, position: string] {
  if (cursor === undefined) return [0, '0'];
  const [, shard, position] = (typeof cursor === 'string' && CURSOR.exec(cursor)) || [];
  if (position !== undefined && Number(shard) < shards && BigInt(position) < 2n ** 64n)
    return [Number(shard), position];
  throw new ArgumentRangeError(`cursor must be that of a page of this table, got ${shownValue(cursor)}`);
}

function toRow(now: number, [id, state, score, failures, error]: readonly (string | null)[]): ListedRow {
  const { loadedAt, everyMs } = parseState(state!);
  // The end of a lease is at half a millisecond.
  const dueIn = score && Number.isInteger(Number(score)) ? Number(score) - now : 0;
  return {
    id: decodeName(id!),
    everyMs,
    ageMs: loadedAt === 0 ? null : Math.max(0, now - loadedAt),
    nextInMs: Math.max(0, dueIn),
    lagMs: Math.max(0, -dueIn),
    failures: Number(failures),
    lastError: error || null,
  };
}
