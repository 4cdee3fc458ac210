import { resolveRefresherOptions } from './options.js';
import type { RefresherOptions } from './options.js';

/** Batches of failed rows that a process loads at once for a table. */
export const MAX_FAILED_BATCHES = 4;
/** The queries of a batch: its own, and one for a part of it while that is slow. */
const MAX_QUERIES_OF_BATCH = 2;

/**
 * Returns the maximum of simultaneous calls of `load` for one table by a `Refresher` with these options. The result is twice
 * `concurrency`, plus 4 for failed rows: 8 by default. The source needs as many connections; with fewer, failed rows delay
 * others. A `ChangeFeed` on a given pool needs one more. Sends nothing. Throws TypeError or RangeError like the constructor of
 * `Refresher`.
 */
export function maxQueriesOf(options: RefresherOptions = {}): number {
  return (
    MAX_QUERIES_OF_BATCH * resolveRefresherOptions(options, 'maxQueriesOf').concurrency + MAX_FAILED_BATCHES
  );
}
