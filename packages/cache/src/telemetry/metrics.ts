/** Everything that caches and refreshers count and measure; the README lists them. */
import type { Metric } from '@mortise/redis';

const metric = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.cache.${name}`,
  unit,
  description,
});

/** With `mortise.cache.result`. */
export const READS = metric('reads', '{read}', 'Reads of entries and rows, by what they found');
/** A histogram, with `mortise.cache.outcome`: `loaded` or `failed`. */
export const LOADS = metric('load', 's', 'Loads: of one entry, or of a batch of rows');
export const CHANGES = metric('changes', '{change}', 'Entries set and deleted, and tags invalidated');
/** With `mortise.cache.outcome`. */
export const ROWS = metric('rows', '{row}', 'Rows that were claimed, by what became of them');
export const REFUSED = metric(
  'refused',
  '{row}',
  'Rows whose result came too late: changed meanwhile, or claimed by another refresher',
);
/** A histogram. */
export const LATE = metric('late', 's', 'For how long the first row of a batch had been due');

export const METRICS: readonly Metric[] = [READS, LOADS, CHANGES, ROWS, REFUSED, LATE];
