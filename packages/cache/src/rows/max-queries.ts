import { resolveRefresherOptions } from '../options.js';
import type { RefresherOptions } from '../options.js';

/** Batches of rows whose last load failed that a process loads at once of a table. */
export const MAX_RETRIES = 4;
/** Of a batch whose query takes unusually long: that one, and the one that looks for rows that hang. */
const MAX_QUERIES_OF_BATCH = 2;

/**
 * How many calls of `load` a `Refresher` with these options has under way at most for one table: as many connections have to be there, or rows that
 * hang keep others from being loaded. That is twice `concurrency`, and 4 for rows whose last load failed: 8 by default. A `ChangeFeed` on a
 * pool that was given needs one more. Sends nothing. Throws TypeError or RangeError as the constructor of `Refresher`.
 */
export function maxQueriesOf(options: RefresherOptions = {}): number {
  return MAX_QUERIES_OF_BATCH * resolveRefresherOptions(options).concurrency + MAX_RETRIES;
}
