import { readMmdb } from './mmdb.js';
import { readRangeCsv } from './range-csv.js';
import type { RangeTable } from './range-table.js';

/** The table that a file gives: a MaxMind database by its name `….mmdb`, else a CSV of ranges. */
export async function readRangeTable(path: string): Promise<RangeTable> {
  return path.endsWith('.mmdb') ? readMmdb(path) : readRangeCsv(path);
}
