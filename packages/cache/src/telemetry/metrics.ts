/** All metrics of the package, for docs/cache/reference/metrics.md. */
import type { Metric } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('cache');

/** `mortise.cache.result` is `near`, `hit`, `stale`, `miss` or `unavailable`; of a `RowCache` `hit` or `miss`. */
export const READS = /* @__PURE__ */ metric('reads', '{read}', 'Reads of entries and rows, by result');
/** `mortise.cache.outcome` is `loaded` or `failed`. */
export const LOADS = /* @__PURE__ */ metric('load', 's', 'Loads: of one entry, or of a batch of rows');
export const CHANGES = /* @__PURE__ */ metric(
  'changes',
  '{change}',
  'Entries set and deleted, and tags invalidated',
);
/** `mortise.cache.outcome` is `stored`, `unchanged`, `missing`, `failed` or `skipped` (the source was down). */
export const ROWS = /* @__PURE__ */ metric('rows', '{row}', 'Leased rows, by outcome');
export const REFUSED = /* @__PURE__ */ metric(
  'refused',
  '{row}',
  'Rows whose result came too late: changed meanwhile, or leased by another refresher',
);
export const LATE = /* @__PURE__ */ metric('late', 's', 'How long the first row of a batch had been due');
export const FEED_CHANGES = /* @__PURE__ */ metric(
  'feed.changes',
  '{change}',
  'Changes that a feed has read from an outbox',
);
export const FEED_ROWS = /* @__PURE__ */ metric('feed.rows', '{row}', 'Rows that a feed has made due');

export const METRICS: readonly Metric[] = [
  READS,
  LOADS,
  CHANGES,
  ROWS,
  REFUSED,
  LATE,
  FEED_CHANGES,
  FEED_ROWS,
];
